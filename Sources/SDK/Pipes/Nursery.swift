/// Tasks that start at any time and all end within one call: `run`. Cancelling that call cancels every one of them.
package final class Nursery: Sendable {
  private struct Birth {
    let executor: (any TaskExecutor)?
    let body: @Sendable () async -> Void
  }

  private let births = Mailbox<Birth>()
  private let usual: (any TaskExecutor)?

  /// - Parameter usual: where tasks run when nothing is said of them; nil: where `run` does.
  package init(usual: (any TaskExecutor)? = nil) {
    self.usual = usual
  }

  /// Starts something, now or as soon as `run` is called. Nothing is started after `close`.
  ///
  /// - Parameter executor: where it runs when nothing else says so; nil for the usual place.
  package func add(on executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable () async -> Void) {
    births.post(Birth(executor: executor, body: body))
  }

  /// Lets `run` return once everything started has ended.
  package func close() {
    births.close()
  }

  package func run() async {
    guard usual != nil else { return await bear() }
    // Most births happen on the loop: no other thread is woken for them.
    await withTaskExecutorPreference(EventLoop.shared) { await bear() }
  }

  private func bear() async {
    await withDiscardingTaskGroup { group in
      while let birth = await births.next() {
        group.addTask(executorPreference: birth.executor ?? usual) { await birth.body() }
      }
    }
  }
}
