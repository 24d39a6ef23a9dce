/// How long to wait before the gateway is tried again: every way to lose it counts, so that a server that takes a
/// connection and drops it at once is not asked a hundred times a second.
struct GatewayBackoff {
  static let first: Duration = .seconds(1)
  static let longest: Duration = .seconds(60)
  /// A connection that has lasted so long was a good one.
  static let goodAfter: Duration = .seconds(60)

  private var failures = 0

  /// - Parameters:
  ///   - lasted: how long the connection was of use; nil when there was none.
  ///   - jitter: 0…1, drawn anew each time.
  mutating func next(after lasted: Duration?, jitter: Double) -> Duration {
    if let lasted, lasted >= Self.goodAfter { failures = 0 }
    defer { failures += 1 }
    // The first time at once: a reconnect that Discord has asked for loses nothing.
    guard failures > 0 else { return .milliseconds(Int(jitter * 500)) }
    let delay = min(Self.longest, Self.first * (1 << min(failures - 1, 6)))
    return delay / 2 + delay / 2 * jitter
  }
}
