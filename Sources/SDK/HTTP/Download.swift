import RelayWire

/// A file to fetch, and the limits it has to keep.
public struct Download: Sendable, Equatable {
  /// The address: of https, or of http where `allowsPlainHTTP` is set.
  public var url: String
  /// The path of the file, which is created for this user only.
  public var path: String
  /// By their names. Secrets in them appear in no error.
  public var headers: [String: String] = [:]
  /// The maximum size in bytes. A larger transfer is ended while it runs, whatever size the server claimed.
  public var maximumBytes: Int
  /// The limit for the whole transfer, of which connecting may take at most 10 s.
  public var timeoutSeconds = 30
  /// Followed only without a proxy, where every address is judged.
  public var maximumRedirects = 3
  /// http, https, socks4, socks5 or socks5h; `nil`: no proxy, whatever the environment says.
  public var proxy: String?
  /// The addresses that may be connected to. Behind a proxy they are not judged.
  public var addresses = AddressPolicy()
  /// Also plain http; otherwise https only.
  public var allowsPlainHTTP = false

  public init(url: String, path: String, maximumBytes: Int) {
    self.url = url
    self.path = path
    self.maximumBytes = maximumBytes
  }
}

/// Why a download failed. The address itself is left out: it may hold a secret.
public enum DownloadError: Error, Sendable, Equatable, CustomStringConvertible {
  case tooLarge(limit: Int)
  case timedOut(seconds: Int)
  case status(Int)
  case addressRefused
  case schemeRefused
  case cannotWrite(String)
  case failed(String)
  case cancelled

  public var description: String {
    switch self {
    case .tooLarge(let limit): "it is larger than \(ByteCount(limit))"
    case .timedOut(let seconds): "it took longer than \(Duration.seconds(seconds).forPeople)"
    case .status(let code): "the server answered \(code)"
    case .addressRefused: "its address is not a public one"
    case .schemeRefused: "only https addresses are fetched"
    case .cannotWrite(let why): "it could not be written: \(why)"
    case .failed(let why): why
    case .cancelled: "it was cancelled"
    }
  }
}
