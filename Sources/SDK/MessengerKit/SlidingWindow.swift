/// A limit of so many events within so much time. A pure value; times are since some fixed moment.
public struct SlidingWindow: Sendable, Equatable {
  private let most: Int
  private let length: Duration
  private var times: [Duration] = []

  /// - Parameters:
  ///   - most: events within `length`.
  ///   - length: the window, which slides with time.
  public init(most: Int, within length: Duration) {
    self.most = most
    self.length = length
  }

  /// How long the next event has to wait; zero when it may happen now.
  ///
  /// - Parameter spare: events that are to remain possible.
  public mutating func wait(now: Duration, leaving spare: Int = 0) -> Duration {
    times.removeAll { now - $0 >= length }
    let limit = max(1, most - spare)
    guard times.count >= limit else { return .zero }
    return times[times.count - limit] + length - now
  }

  /// Reports that no event counts any more.
  func isEmpty(now: Duration) -> Bool { times.allSatisfy { now - $0 >= length } }

  /// An event happens.
  public mutating func add(now: Duration) { times.append(now) }
}
