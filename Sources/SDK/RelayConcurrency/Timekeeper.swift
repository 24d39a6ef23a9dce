/// The time as the supervisor sees it: injected, so that tests need not wait.
package struct Timekeeper: Sendable {
  /// For sleeping and deadlines.
  package let clock: any Clock<Duration>
  /// The same clock's reading, from an arbitrary start.
  package let now: @Sendable () -> Duration

  package init(clock: any Clock<Duration>) {
    self.clock = clock
    now = clock.reading
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
