/// The decision whether the conversation is shown that the agent is typing. A pure value.
struct TypingIndicator: Sendable, Equatable {
  private var isShown = false
  /// Counts runs and their ends, so that a timer of an earlier run starts nothing.
  private var run = 0

  /// - Returns: the number of the run, for `runIsSlow`.
  mutating func runBegan() -> Int {
    run += 1
    return run
  }

  /// - Returns: true when the indicator must be switched on.
  mutating func runIsSlow(_ number: Int) -> Bool { number == run && start() }

  /// - Returns: true when the indicator must be switched on.
  mutating func start() -> Bool {
    defer { isShown = true }
    return !isShown
  }

  /// Stops the indicator. The caller always switches it off: a predecessor of this process may have started it.
  mutating func stop() {
    run += 1
    isShown = false
  }
}
