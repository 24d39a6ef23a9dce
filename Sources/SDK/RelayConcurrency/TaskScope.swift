/// Tasks that start at any time and all end within one call: `run`. Cancelling that call cancels every one of them.
package final class TaskScope: Sendable {
  private struct Job {
    let executor: (any TaskExecutor)?
    let body: @Sendable () async -> Void
  }

  private let jobs = Mailbox<Job>()
  private let executor: (any TaskExecutor)?
  private let starter: (any TaskExecutor)?

  /// - Parameters:
  ///   - executor: where a task runs when it is added without an executor; nil: where `run` does.
  ///   - starter: where tasks are started from; nil: where `run` is. The executor that most of them are added from spares
  ///     waking another thread.
  package init(executor: (any TaskExecutor)? = nil, starter: (any TaskExecutor)? = nil) {
    self.executor = executor
    self.starter = starter
  }

  /// Starts something, now or as soon as `run` is called. Nothing is started after `close`.
  ///
  /// - Parameter executor: where it runs; nil for the scope's own executor.
  /// - Returns: false after `close`.
  @discardableResult
  package func add(on executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable () async -> Void) -> Bool {
    jobs.post(Job(executor: executor, body: body))
  }

  /// Lets `run` return once everything started has ended.
  package func close() {
    jobs.close()
  }

  package func run() async {
    guard let starter else { return await startJobs() }
    await withTaskExecutorPreference(starter) { await startJobs() }
  }

  private func startJobs() async {
    await withDiscardingTaskGroup { group in
      while let job = await jobs.next() {
        group.addTask(executorPreference: job.executor ?? executor) { await job.body() }
      }
    }
  }
}
