/// Waits between tries that double from `first` to `longest`. A pure value: no clock, and chance comes from the caller.
package struct ExponentialBackoff: Sendable, Equatable {
  package var first: Duration
  package var longest: Duration
  /// The share of a wait, 0…1, that chance may take off, so that many who wait for the same thing do not return as one.
  package var jitter: Double
  /// Waits since the last success.
  private var count = 0

  package init(from first: Duration, to longest: Duration, jitter: Double = 0) {
    self.first = first
    self.longest = longest
    self.jitter = jitter
  }

  /// The wait before the next try.
  ///
  /// - Parameter random: a random number 0…1 for each call.
  package mutating func next(random: Double = 0) -> Duration {
    defer { count += 1 }
    return wait(count, random: random)
  }

  /// Begins with `first` again, after a success.
  package mutating func reset() { count = 0 }

  /// The wait after `count` others, for a caller that keeps the count itself.
  package func wait(_ count: Int, random: Double = 0) -> Duration {
    var wait = first
    // 64 doublings reach any limit; zero never does.
    for _ in 0..<max(0, min(count, 64)) where wait < longest { wait *= 2 }
    return min(wait, longest) * (1 - jitter * min(max(random, 0), 1))
  }
}
