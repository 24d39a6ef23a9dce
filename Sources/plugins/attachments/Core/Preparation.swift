internal import FoundationEssentials
internal import Glibc
internal import RelayHTTP
package import RelayWire

/// Turns a message's files into images and text for the agent. A file that cannot be included is mentioned.
package struct Preparation: Sendable {
  package struct Limits: Sendable, Equatable {
    package var imageBytes = 10 << 20
    /// Text files below this are included. Kilobytes are counted in thousands, as the documentation says.
    package var textBytes = 100_000
    package var downloadSeconds = 30
    /// For tests and private platforms: fetch from any address and over plain http.
    package var allowsPrivateAddresses = false
    package init() {}
  }

  private let limits: Limits

  package init(limits: Limits) {
    self.limits = limits
  }

  private enum Prepared: Sendable {
    case image(AttachmentsPrepare.Image)
    case text(String)
    case mention(String)
  }

  package func prepare(_ request: AttachmentsPrepare) async -> AttachmentsPrepare.Reply {
    let prepared = await withTaskGroup(of: (Int, Prepared).self) { group in
      for (index, attachment) in request.attachments.enumerated() {
        group.addTask { (index, await prepare(attachment, index, request)) }
      }
      var all: [(Int, Prepared)] = []
      for await one in group { all.append(one) }
      return all.sorted { $0.0 < $1.0 }.map(\.1)
    }
    var images: [AttachmentsPrepare.Image] = []
    var texts: [String] = []
    for one in prepared {
      switch one {
      case .image(let image): images.append(image)
      case .text(let text), .mention(let text): texts.append(text)
      }
    }
    return AttachmentsPrepare.Reply(images: images, text: texts.joined(separator: "\n\n"))
  }

  private func prepare(_ attachment: Attachment, _ index: Int, _ request: AttachmentsPrepare) async -> Prepared {
    let name = Self.safeName(attachment.name)
    if let size = attachment.size, size > limits.imageBytes {
      return .mention(mention(name, attachment, size, "larger than \(ByteCount(limits.imageBytes))"))
    }
    let bytes: [UInt8]
    do {
      bytes = try await contents(attachment, index, request)
    } catch {
      return .mention(mention(name, attachment, attachment.size, "\(error)"))
    }
    switch FileKind.of(bytes) {
    case .image(let mime):
      let path = "\(request.outputDir)/\(index).base64"
      guard write(Data(bytes).base64EncodedData(), to: path) else {
        return .mention(mention(name, attachment, bytes.count, "it could not be handed over"))
      }
      return .image(AttachmentsPrepare.Image(name: name, mime: mime, base64Path: path))
    case .text(let text) where bytes.count < limits.textBytes: return .text("--- \(name) ---\n\(text)")
    case .text:
      return .mention(mention(name, attachment, bytes.count, "text of \(ByteCount(limits.textBytes)) or more"))
    case .other: return .mention(mention(name, attachment, bytes.count, "not a picture or text"))
    }
  }

  private func contents(_ attachment: Attachment, _ index: Int, _ request: AttachmentsPrepare) async throws -> [UInt8] {
    if let path = attachment.path {
      return try SpoolFile.read(path, beneath: request.spoolDir, limit: limits.imageBytes)
    }
    guard let url = attachment.url else { throw SpoolFile.Failure(description: "it came without its contents") }
    let proxy = ProxyRules(setting: request.proxy).proxy(for: url)?.url
    if proxy != nil, !Self.isListed(url, request.hosts ?? []) {
      throw SpoolFile.Failure(description: "behind a proxy, only hosts that the messenger lists are fetched from")
    }
    let path = "\(request.outputDir)/\(index).download"
    defer { _ = unlink(path) }
    var download = Download(url: url, path: path, maximumBytes: limits.imageBytes)
    download.timeoutSeconds = limits.downloadSeconds
    download.proxy = proxy
    download.addresses = AddressPolicy(allowsPrivate: limits.allowsPrivateAddresses)
    download.allowsPlainHTTP = limits.allowsPrivateAddresses
    try await CurlEngine.shared.fetch(download)
    return try SpoolFile.read(path, beneath: request.outputDir, limit: limits.imageBytes)
  }

  private static func isListed(_ url: String, _ hosts: [String]) -> Bool {
    guard let host = URL(string: url)?.host()?.lowercased() else { return false }
    return hosts.contains { $0.lowercased() == host }
  }

  private func write(_ data: Data, to path: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return false }
    defer { _ = close(descriptor) }
    return data.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return false }
        done += count
      }
      return true
    }
  }

  private func mention(_ name: String, _ attachment: Attachment, _ size: Int?, _ why: String) -> String {
    var facts = [name]
    if let mime = attachment.mime { facts.append(Self.safeName(mime)) }
    if let size, size >= 0 { facts.append("\(ByteCount(size))") }
    return "[Attached but not included: \(facts.joined(separator: ", ")) — \(why)]"
  }

  /// A short single line, because another person chose the file's name.
  static func safeName(_ name: String) -> String {
    let visible = name.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
      default: true
      }
    }
    let text = String(String(String.UnicodeScalarView(visible)).prefix(48))
    return text.isEmpty ? "file" : text
  }
}
