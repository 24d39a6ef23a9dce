internal import Glibc

/// The time as the supervisor sees it: injected, so that tests need not wait.
package struct Timekeeper: Sendable {
  /// For sleeping and deadlines.
  package let clock: any Clock<Duration>
  /// The same clock's reading, from an arbitrary start.
  package let now: @Sendable () -> Duration

  package init(clock: any Clock<Duration>, now: @escaping @Sendable () -> Duration) {
    self.clock = clock
    self.now = now
  }

  /// Stops while the machine is suspended: nobody is late because the lid was closed.
  package static let system = Timekeeper(clock: SuspendingClock()) {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
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
