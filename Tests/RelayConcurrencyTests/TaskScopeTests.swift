import RelayConcurrency
import Testing

@Suite struct TaskScopeTests {
  @Test func `run returns once the scope is closed and all its tasks have ended`() async {
    let scope = TaskScope()
    let ended = Locked(0)
    for _ in 0..<3 { scope.add { ended.withLock { $0 += 1 } } }
    scope.close()
    scope.add { Issue.record("a task was started after the scope was closed") }
    await scope.run()
    #expect(ended.withLock { $0 } == 3)
  }

  @Test func `cancelling run cancels its tasks`() async {
    let scope = TaskScope()
    let (started, cancelled) = (Mailbox<Void>(), Locked(false))
    scope.add {
      started.post(())
      let never = Mailbox<Void>()
      _ = await never.next()
      cancelled.withLock { $0 = Task.isCancelled }
    }
    let running = Task { await scope.run() }
    _ = await started.next()
    running.cancel()
    await running.value
    #expect(cancelled.withLock { $0 })
  }
}
