/// A limit of a number of events within a time. A pure value; times are since some fixed moment.
public struct SlidingWindow: Sendable, Equatable {
  private let maximum: Int
  private let length: Duration
  /// The events that patient requests leave to others.
  let spare: Int
  private var times: [Duration] = []

  /// - Parameters:
  ///   - maximum: the most events within `length`.
  ///   - length: the length of the window, which slides with time.
  ///   - spare: as a limit of `RateLimits`: the events that patient requests leave to others.
  public init(maximum: Int, within length: Duration, spare: Int = 1) {
    self.maximum = maximum
    self.length = length
    self.spare = spare
  }

  /// The time that the next event has to wait; zero when it may happen now.
  ///
  /// - Parameter spare: the number of events that remain possible after it.
  public mutating func wait(now: Duration, leaving spare: Int = 0) -> Duration {
    times.removeAll { now - $0 >= length }
    let limit = max(1, maximum - spare)
    guard times.count >= limit else { return .zero }
    return times[times.count - limit] + length - now
  }

  /// Reports that no event counts any more.
  func isEmpty(now: Duration) -> Bool { times.allSatisfy { now - $0 >= length } }

  /// Counts an event.
  public mutating func add(now: Duration) { times.append(now) }
}
