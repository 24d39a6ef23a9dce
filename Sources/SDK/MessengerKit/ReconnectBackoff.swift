/// The pause before a lost connection is tried again. Every way to lose it counts, so that a server that takes a connection
/// and drops it at once is not asked a hundred times a second. A pure value.
public struct ReconnectBackoff: Sendable, Equatable {
  static let first: Duration = .seconds(1)
  static let longest: Duration = .seconds(60)
  static let goodAfter: Duration = .seconds(60)

  private var failures = 0

  public init() {}

  /// The pause before the next try: at most half a second the first time, then one second, doubling to a minute.
  ///
  /// - Parameters:
  ///   - lasted: how long the connection worked; `nil` when there was none. A connection of a minute or more resets the
  ///     pause.
  ///   - jitter: a random number 0…1 for each call, so that many clients do not come back together.
  public mutating func next(after lasted: Duration?, jitter: Double) -> Duration {
    if let lasted, lasted >= Self.goodAfter { failures = 0 }
    defer { failures += 1 }
    // The first time at once: a reconnect that the service has asked for loses nothing.
    guard failures > 0 else { return .milliseconds(Int(jitter * 500)) }
    let delay = min(Self.longest, Self.first * (1 << min(failures - 1, 6)))
    return delay / 2 + delay / 2 * jitter
  }
}
