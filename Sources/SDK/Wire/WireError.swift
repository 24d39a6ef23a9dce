public import RelayJSON

/// The `error` member of an answer.
public struct WireError: Error, Codable, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error, which the other side's behaviour depends on.
  public let code: Code
  /// The reason, in words for people.
  public let message: String
  /// Details, as the kind of error has them; `nil` where it has none.
  public let data: JSONValue?

  public init(_ code: Code, _ message: String, data: JSONValue? = nil) {
    self.code = code
    self.message = message
    self.data = data
  }

  public var description: String { message }

  /// An open set: codes of newer peers are kept as they are.
  public struct Code: RawRepresentable, Hashable, Codable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// JSON-RPC 2.0 §5.1.
    public static let parseError = Code(rawValue: -32700)
    /// The request is malformed, or must not come at this time.
    public static let invalidRequest = Code(rawValue: -32600)
    /// The receiver does not understand the method.
    public static let methodNotFound = Code(rawValue: -32601)
    /// The parameters are not as the protocol states.
    public static let invalidParams = Code(rawValue: -32602)
    /// The handling of the request failed.
    public static let internalError = Code(rawValue: -32603)
    /// A delivery failed; `data` says how (`DeliveryFailure`).
    public static let delivery = Code(rawValue: -32000)
    /// Too many or too large unanswered requests; send it again later.
    public static let busy = Code(rawValue: -32001)
    /// The configuration subtree was refused; `data` is a list of {path, message}.
    public static let configuration = Code(rawValue: -32002)
    /// This connection may not do that.
    public static let forbidden = Code(rawValue: -32003)
    /// There is nobody whom the request could reach now.
    package static let unavailable = Code(rawValue: -32004)
  }
}

/// Why a messenger could not do what it was asked. A closed set: the host's behaviour depends on every case.
public enum DeliveryFailure: Error, Sendable, Equatable {
  /// A passing fault: try again later.
  case transient(String)
  /// The platform asks to wait this many seconds.
  case rateLimited(retryAfter: Double)
  /// The credential is no longer good.
  case unauthorized(String)
  /// The platform refuses this for this conversation.
  case forbidden(String)
  /// The conversation or message no longer exists.
  case notFound(String)
  /// Over the platform's size limit.
  case tooLarge(String)
  /// The platform will never accept this.
  case invalid(String)
  /// It may or may not have happened.
  case unknownOutcome(String)

  /// Reads the failure out of an answer; `nil` for an error of another code than `delivery`, or of an unknown kind. The
  /// wait of a rate limit is 1 s where none is stated, and at most `maximumWait`.
  public init?(_ error: WireError) {
    guard error.code == .delivery, let kind = error.data?["kind"]?.stringValue else { return nil }
    switch kind {
    case "transient": self = .transient(error.message)
    case "rate_limited":
      let wait: Double? =
        switch error.data?["retryAfter"] {
        case .number(let seconds): seconds
        case .integer(let seconds): Double(seconds)
        default: nil
        }
      self = .rateLimited(retryAfter: Self.sensible(wait ?? 1))
    case "unauthorized": self = .unauthorized(error.message)
    case "forbidden": self = .forbidden(error.message)
    case "not_found": self = .notFound(error.message)
    case "too_large": self = .tooLarge(error.message)
    case "invalid": self = .invalid(error.message)
    case "unknown_outcome": self = .unknownOutcome(error.message)
    default: return nil
    }
  }

  /// Longest wait that a platform is believed to ask for, in seconds.
  public static let maximumWait: Double = 3_600

  private static func sensible(_ seconds: Double) -> Double {
    seconds.isFinite ? min(max(0, seconds), maximumWait) : maximumWait
  }

  /// The error to answer with: code `delivery`, with the kind in `data`.
  public var wireError: WireError {
    switch self {
    case .transient(let text): Self.error("transient", text)
    case .rateLimited(let seconds):
      WireError(
        .delivery, "rate limited for \(Duration(seconds: seconds).forPeople)",
        data: ["kind": "rate_limited", "retryAfter": .number(seconds)])
    case .unauthorized(let text): Self.error("unauthorized", text)
    case .forbidden(let text): Self.error("forbidden", text)
    case .notFound(let text): Self.error("not_found", text)
    case .tooLarge(let text): Self.error("too_large", text)
    case .invalid(let text): Self.error("invalid", text)
    case .unknownOutcome(let text): Self.error("unknown_outcome", text)
    }
  }

  private static func error(_ kind: String, _ text: String) -> WireError {
    WireError(.delivery, text, data: ["kind": .string(kind)])
  }
}
