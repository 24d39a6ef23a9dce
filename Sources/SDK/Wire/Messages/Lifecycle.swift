/// `ping`: are you there?
public struct Ping: WireRequest {
  public static let method = "ping"
  public typealias Reply = Empty

  public init() {}
}

/// `shutdown`: finish what is in flight, take nothing new, answer, then leave on end of input.
public struct Shutdown: WireRequest {
  public static let method = "shutdown"
  public typealias Reply = Empty

  /// Why, for the log.
  public var reason: String?

  public init(reason: String? = nil) { self.reason = reason }
}
