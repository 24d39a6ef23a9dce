internal import FoundationEssentials
internal import Glibc
internal import MessengerKit
public import PluginSDK
public import RelayHTTP

/// A file of a person's message that the messenger fetches itself, because its address holds a secret or is asked with one.
public struct IncomingFile: Sendable {
  /// The place that the contents come from.
  public enum Source: Sendable {
    /// An address, and the headers that it is asked with. Neither appears in a log or an error. libcurl sends a header
    /// `Authorization` to no other host when the address leads elsewhere.
    case address(String, headers: [String: String] = [:])
    /// A file on this machine, which the service has put there.
    case copy(of: String)
    /// None: the agent is told that the file came without its contents.
    case none
  }

  /// The file as the host is told of it, without path and address.
  public var attachment: Attachment
  /// The place that the contents come from.
  public var source: Source

  public init(_ attachment: Attachment, from source: Source) {
    self.attachment = attachment
    self.source = source
  }
}

/// Files of people's messages, fetched into the instance's spool folder before the host gets the message, and removed once the
/// host needs them no more.
///
/// The files of a message lie in a folder named after it, so that a later process removes them as well: call `settled` for every
/// `message.settled` of the host, which the capability `outcomes` asks for.
public struct IncomingFiles: Sendable {
  /// The limits of one file.
  public struct Limits: Sendable {
    /// The largest file in bytes; the host takes no larger one.
    public var bytes = 10 << 20
    /// The time in seconds for each of at most three tries.
    public var seconds = 60
    /// Redirects that are followed, where no proxy is used.
    public var redirects = 3

    public init() {}
  }

  /// More files of a message are left out, because the host takes no more.
  private static let maximumFiles = 32
  /// The age in seconds of files that no end of a message has removed.
  private static let maximumAge = 30.0 * 86_400
  private static let tries = Tries(3, first: .seconds(1), multiplier: 3)

  private let host: Host
  private let limits: Limits
  private let proxies: ProxyRules
  private let allowsPrivate: Bool
  private let engine: CurlEngine
  private var folder: String { host.about.spoolDir + "/received" }

  /// Removes what messages of a month ago have left behind.
  ///
  /// - Parameters:
  ///   - proxy: the setting, which goes before the environment's.
  ///   - allowsPrivate: also addresses of this machine and of private networks, and plain http: for a server of the person's own.
  public init(
    _ host: Host, limits: Limits = Limits(), proxy: String?, allowsPrivate: Bool = false, engine: CurlEngine = .shared
  ) {
    self.host = host
    self.limits = limits
    self.allowsPrivate = allowsPrivate
    self.engine = engine
    proxies = ProxyRules(setting: proxy)
    sweep()
  }

  /// Fetches the files of a message, hands it over, and removes them again unless the host keeps the message.
  ///
  /// A file that cannot be fetched is handed over without its contents, which the agent is told; the reason goes to the log.
  ///
  /// - Parameter files: at most 32; the rest is left out, which the log says.
  /// - Throws: the error of `Host.received`, or `CancellationError`; the files are there for the next try then.
  public func received(_ message: MessageReceived, with files: [IncomingFile]) async throws -> MessageReceived.Reply {
    guard !files.isEmpty else { return try await host.received(message) }
    let place = place(of: message.id, in: message.conversation.id)
    // Files of an earlier try: the host may have the message already.
    let isKnown = FileManager.default.fileExists(atPath: place)
    if files.count > Self.maximumFiles { host.log("message \(message.id) has \(files.count) files: some are left out") }
    var message = message
    message.attachments = try await fetch(Array(files.prefix(Self.maximumFiles)), to: place)
    let reply = try await host.received(message)
    if reply.refused == true || !reply.stored && !isKnown { remove(place) }
    return reply
  }

  /// Removes the files of a message that has ended.
  public func settled(_ end: MessageSettled) { remove(place(of: end.message, in: end.conversation)) }

  private func place(of message: String, in conversation: String) -> String {
    // A name holds 255 bytes, and the ends of long ids differ.
    "\(folder)/c\(conversation.percentEncoded.suffix(200))/m\(message.percentEncoded.suffix(200))"
  }

  private func remove(_ place: String) {
    // Most messages have none; others are found by `sweep`.
    try? FileManager.default.removeItem(atPath: place)
  }

  private func fetch(_ files: [IncomingFile], to place: String) async throws -> [Attachment] {
    do {
      try FileManager.default.createDirectory(
        atPath: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      host.log("files of a message cannot be stored: \(error)")
      return files.map(\.attachment)
    }
    var attachments: [Attachment] = []
    for (index, file) in files.enumerated() {
      var attachment = file.attachment
      let path = "\(place)/\(index)"
      if try await fetch(file, to: path) { attachment.path = path }
      attachments.append(attachment)
    }
    return attachments
  }

  /// - Returns: whether the file is there.
  private func fetch(_ file: IncomingFile, to path: String) async throws -> Bool {
    if FileManager.default.fileExists(atPath: path) { return true }
    let part = path + ".part"
    defer { _ = unlink(part) }
    if let size = file.attachment.size, size > limits.bytes { return false }
    let isThere: Bool? =
      switch file.source {
      case .none: false
      case .copy(let original): copy(original, to: part)
      case .address(let url, let headers): try await Self.tries.run { try await download(url, headers, to: part) }
      }
    return isThere == true && rename(part, path) == 0
  }

  /// - Returns: false where another try would fail the same; `nil` where it may help.
  private func download(_ url: String, _ headers: [String: String], to path: String) async throws -> Bool? {
    // A process that was killed may have left it.
    _ = unlink(path)
    var download = Download(url: url, path: path, maximumBytes: limits.bytes)
    download.headers = headers
    download.timeoutSeconds = limits.seconds
    download.maximumRedirects = limits.redirects
    download.proxy = proxies.proxy(for: url)?.url
    download.addresses = AddressPolicy(allowsPrivate: allowsPrivate)
    download.allowsPlainHTTP = allowsPrivate
    do {
      try await engine.fetch(download)
      return true
    } catch {
      try Task.checkCancellation()
      host.log("a file of a message could not be fetched: \(error)")
      return error.mayPass ? nil : false
    }
  }

  private func copy(_ original: String, to path: String) -> Bool {
    var status = stat()
    guard stat(original, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= limits.bytes else {
      host.log("a file of a message is not there, or is too large")
      return false
    }
    _ = unlink(path)
    do { try FileManager.default.copyItem(atPath: original, toPath: path) } catch {
      host.log("a file of a message could not be copied: \(error)")
      return false
    }
    return chmod(path, 0o600) == 0
  }

  private func sweep() {
    // A folder that is not there holds nothing.
    for conversation in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let places = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(conversation)")) ?? []
      for place in places {
        var status = stat()
        let path = "\(folder)/\(conversation)/\(place)"
        guard stat(path, &status) == 0, time(nil) - status.st_mtim.tv_sec > Int(Self.maximumAge) else { continue }
        remove(path)
      }
    }
  }
}

extension DownloadError {
  /// Reports that another try may help.
  fileprivate var mayPass: Bool {
    switch self {
    case .timedOut, .failed: true
    case .status(let status): status >= 500 || status == 429
    case .tooLarge, .addressRefused, .schemeRefused, .cannotWrite, .cancelled: false
    }
  }
}
