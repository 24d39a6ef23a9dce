package import RelayWire

/// Why a request got no result.
package enum ConnectionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The other side answered with an error.
  case refused(WireError)
  /// No answer within the limit.
  case timedOut(method: String)
  /// The connection ended first: whether the request was carried out is unknown.
  case closed
  /// The request was never sent: too much is waiting already, or the connection had ended.
  case notSent(String)
  /// The answer is not what the protocol says.
  case unreadable(method: String, String)

  package var description: String {
    switch self {
    case .refused(let error): error.message
    case .timedOut(let method): "no answer to \(method) in time"
    case .closed: "the connection ended"
    case .notSent(let why): "not sent: \(why)"
    case .unreadable(let method, let why): "the answer to \(method) cannot be understood: \(why)"
    }
  }
}
