/// A limit that allows a burst and then an even flow, as servers have against floods. A pure value; times are since some fixed
/// moment.
public struct TokenBucket: Sendable, Equatable {
  /// Events at once.
  public let burst: Int
  /// Between two events that follow each other for long.
  public let interval: Duration
  /// When the bucket is full again.
  private var full: Duration = .zero

  /// Makes a full bucket. A burst of less than 1 counts as 1.
  public init(burst: Int, interval: Duration) {
    self.burst = max(1, burst)
    self.interval = interval
  }

  /// How long until so many events could happen at once, at most a burst of them; zero for now.
  public func wait(for count: Int = 1, now: Duration) -> Duration {
    max(.zero, full + interval * min(count, burst) - interval * burst - now)
  }

  /// An event happens.
  public mutating func take(now: Duration) { full = max(full, now) + interval }
}
