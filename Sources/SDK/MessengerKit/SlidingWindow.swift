/// A limit of a number of events within a time. A pure value; times are since some fixed moment.
public struct SlidingWindow: Sendable, Equatable {
  private let most: Int
  private let length: Duration
  private var times: [Duration] = []

  /// - Parameters:
  ///   - most: the most events within `length`.
  ///   - length: the length of the window, which slides with time.
  public init(most: Int, within length: Duration) {
    self.most = most
    self.length = length
  }

  /// The time that the next event has to wait; zero when it may happen now.
  ///
  /// - Parameter spare: the number of events that remain possible after it.
  public mutating func wait(now: Duration, leaving spare: Int = 0) -> Duration {
    times.removeAll { now - $0 >= length }
    let limit = max(1, most - spare)
    guard times.count >= limit else { return .zero }
    return times[times.count - limit] + length - now
  }

  /// Reports that no event counts any more.
  func isEmpty(now: Duration) -> Bool { times.allSatisfy { now - $0 >= length } }

  /// Counts an event.
  public mutating func add(now: Duration) { times.append(now) }
}
