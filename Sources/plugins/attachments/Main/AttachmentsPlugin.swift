import Attachments
import PluginSDK

/// Turns files that people send into what a model takes.
@main struct AttachmentsPlugin: Plugin {
  static let name = "attachments"
  static let version = "0.1.0"
  static let kinds: [PluginKind] = [.service]

  /// The plugin's part of relay.yaml.
  private struct Settings: Decodable {
    /// The largest file that is read, in MiB, 1 to 100.
    var imageMegabytes: Int?
    /// The size from which a text file is named and not included, in kB, 1 to 10,000.
    var textKilobytes: Int?
    /// The limit of one download, in seconds, 1 to 600.
    var downloadSeconds: Int?
    /// Fetch from private addresses, too, and over plain http.
    var allowPrivateAddresses: Bool?
  }

  private let preparation: Preparation

  init(_ host: Host) throws {
    let settings = try host.config(as: Settings.self)
    var limits = Preparation.Limits()
    if let value = settings.imageMegabytes {
      limits.imageBytes = try Self.check("imageMegabytes", value, 1...100) << 20
    }
    if let value = settings.textKilobytes {
      limits.textBytes = try Self.check("textKilobytes", value, 1...10_000) * 1_000
    }
    if let value = settings.downloadSeconds {
      limits.downloadSeconds = try Self.check("downloadSeconds", value, 1...600)
    }
    limits.allowsPrivateAddresses = settings.allowPrivateAddresses ?? false
    preparation = Preparation(limits: limits)
  }

  var capabilities: Capabilities {
    var capabilities = Capabilities()
    capabilities.services = [AttachmentsPrepare.method]
    capabilities.onDemand = true
    return capabilities
  }

  private static func check(_ path: String, _ value: Int, _ range: ClosedRange<Int>) throws -> Int {
    guard range.contains(value) else {
      throw ConfigurationProblems(path: path, "must be from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  func prepareAttachments(_ request: AttachmentsPrepare) async throws -> AttachmentsPrepare.Reply {
    await preparation.prepare(request)
  }
}
