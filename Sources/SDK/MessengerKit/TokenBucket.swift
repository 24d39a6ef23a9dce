/// A limit that allows a burst and then an even flow, as servers set against floods. A pure value; times are since some fixed
/// moment.
public struct TokenBucket: Sendable, Equatable {
  /// The events that may happen at once, at least 1.
  public let burst: Int
  /// The time between two events in the even flow.
  public let interval: Duration
  /// When the bucket is full again.
  private var full: Duration = .zero

  /// Makes a full bucket. A burst of less than 1 counts as 1.
  public init(burst: Int, interval: Duration) {
    self.burst = max(1, burst)
    self.interval = interval
  }

  /// The time until `count` events, at most a burst, could happen at once; zero for now.
  public func wait(for count: Int = 1, now: Duration) -> Duration {
    max(.zero, full + interval * min(count, burst) - interval * burst - now)
  }

  /// Counts an event.
  public mutating func take(now: Duration) { full = max(full, now) + interval }
}
