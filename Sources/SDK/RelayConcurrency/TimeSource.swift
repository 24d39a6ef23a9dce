internal import Glibc

/// The time as the supervisor sees it: injected, so that tests need not wait.
package struct TimeSource: Sendable {
  /// For sleeping and deadlines.
  package let clock: any Clock<Duration>
  /// The same clock's reading, from an arbitrary start.
  package let now: @Sendable () -> Duration
  /// Seconds since 1970, for what must be compared over restarts or with the times of files. It jumps when it is set.
  package let wallTime: @Sendable () -> Double

  package init(clock: any Clock<Duration>, wallTime: @escaping @Sendable () -> Double = Self.systemWallTime) {
    self.clock = clock
    self.wallTime = wallTime
    now = clock.reading
  }

  package static let systemWallTime: @Sendable () -> Double = {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
  }

  /// Sleeps; false when cancelled first.
  package func sleep(for duration: Duration) async -> Bool {
    do {
      try await clock.sleep(for: duration)
      return true
    } catch {
      return false
    }
  }
}
