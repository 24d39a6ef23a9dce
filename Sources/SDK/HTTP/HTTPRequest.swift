import RelayWire

/// A request to a service that we have an account with.
public struct HTTPRequest: Sendable {
  public enum Body: Sendable {
    case none
    case bytes([UInt8], type: String)
    /// Files are read from the disk while they are sent.
    case multipart([Part])
  }

  public struct Part: Sendable {
    public enum Content: Sendable {
      case bytes([UInt8])
      case file(path: String)
    }

    public var name: String
    public var fileName: String?
    public var type: String?
    public var content: Content

    public init(name: String, fileName: String? = nil, type: String? = nil, content: Content) {
      self.name = name
      self.fileName = fileName
      self.type = type
      self.content = content
    }
  }

  public var method: String
  public var url: String
  /// Secrets in them appear in no error.
  public var headers: [(name: String, value: String)]
  public var body: Body
  /// A longer answer ends the transfer.
  public var maximumBytes = 16 << 20
  public var timeoutSeconds = 30
  /// http, https, socks4, socks5 or socks5h; nil: none, whatever the environment says.
  public var proxy: String?
  /// Also plain http; otherwise https only.
  public var allowsPlainHTTP = false

  public init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: Body = .none) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

public struct HTTPResponse: Sendable, Equatable {
  public var status: Int
  /// By names in lower case; the last of several counts.
  public var headers: [String: String]
  public var body: [UInt8]
}

/// Why there is no answer. The address and headers are left out: they may hold secrets.
public enum HTTPError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server has not seen the request.
  case notSent(String)
  /// The server may have acted on the request.
  case unanswered(String)
  case tooLarge(limit: Int)
  case cancelled

  public var description: String {
    switch self {
    case .notSent(let why): "the server could not be reached: \(why)"
    case .unanswered(let why): "the server did not answer: \(why)"
    case .tooLarge(let limit): "the answer is larger than \(ByteCount(limit))"
    case .cancelled: "it was cancelled"
    }
  }
}
