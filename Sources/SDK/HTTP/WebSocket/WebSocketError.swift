import RelayWire

/// Why there is no connection. The address and headers are left out: they may hold secrets.
public enum WebSocketError: Error, Sendable, Equatable, CustomStringConvertible {
  case unreachable(String)
  /// The server is there and wants no WebSocket.
  case refused(String)
  case timedOut(seconds: Int)
  case cancelled
  /// The connection has ended, or more waits to be sent than is kept.
  case closed

  public var description: String {
    switch self {
    case .unreachable(let why): "the server could not be reached: \(why)"
    case .refused(let why): "the server refuses a WebSocket: \(why)"
    case .timedOut(let seconds): "no WebSocket within \(Duration.seconds(seconds).forPeople)"
    case .cancelled: "it was cancelled"
    case .closed: "the connection has ended"
    }
  }
}
