import RelayWire

/// A request to a service that we have an account with.
public struct HTTPRequest: Sendable {
  /// The content that is sent.
  public enum Body: Sendable {
    case none
    case bytes([UInt8], type: String)
    /// Files are read from the disk while they are sent.
    case multipart([Part])
  }

  /// One field of a form.
  public struct Part: Sendable {
    /// The bytes of a field, or the file that holds them.
    public enum Content: Sendable {
      case bytes([UInt8])
      case file(path: String)
    }

    /// The field's name.
    public var name: String
    /// The file name sent to the server; `nil` for none, or for that of the file at `path`.
    public var fileName: String?
    /// The MIME type; `nil` leaves it to libcurl.
    public var type: String?
    /// The field's content.
    public var content: Content

    public init(name: String, fileName: String? = nil, type: String? = nil, content: Content) {
      self.name = name
      self.fileName = fileName
      self.type = type
      self.content = content
    }
  }

  /// The method in capitals, for example `GET`.
  public var method: String
  /// The address: of https, or of http where `allowsPlainHTTP` is set.
  public var url: String
  /// Secrets in them appear in no error.
  public var headers: [(name: String, value: String)]
  /// The content that is sent.
  public var body: Body
  /// A longer answer ends the transfer.
  public var maximumBytes = 16 << 20
  /// The limit for the whole exchange, of which connecting may take at most 10 s.
  public var timeoutSeconds = 30
  /// http, https, socks4, socks5 or socks5h; `nil`: no proxy, whatever the environment says.
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

/// The answer of a server, with any status.
public struct HTTPResponse: Sendable, Equatable {
  /// The HTTP status code.
  public var status: Int
  /// By names in lower case; the last of several counts.
  public var headers: [String: String]
  /// The content, without the compression of the transfer; at most the request's `maximumBytes`.
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
