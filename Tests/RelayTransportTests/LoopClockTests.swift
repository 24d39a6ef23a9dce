import RelayTransport
import Testing

@Suite struct LoopClockTests {
  @Test func `no sleep ends before its deadline`() async throws {
    let clock = LoopClock.shared
    let began = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for milliseconds in [30, 10, 20, 0] {
        group.addTask {
          try await clock.sleep(for: .milliseconds(milliseconds))
          #expect(began.duration(to: clock.now) >= .milliseconds(milliseconds))
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `a sleep that is cancelled ends at once and leaves nothing behind`() async {
    let clock = LoopClock.shared
    let before = clock.sleeperCount
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<1_000 {
        group.addTask {
          do { try await clock.sleep(for: .seconds(86_400)) } catch { return error is CancellationError }
          return false
        }
      }
      group.cancelAll()
      for await wasCancelled in group { #expect(wasCancelled) }
    }
    // Others may sleep on it too, but not a thousand.
    #expect(clock.sleeperCount < before + 1_000)
  }

  @Test func `a sleep that was cancelled before it began ends at once`() async {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await LoopClock.shared.sleep(for: .seconds(86_400))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
