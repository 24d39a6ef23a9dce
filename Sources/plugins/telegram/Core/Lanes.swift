internal import RelayConcurrency
internal import RelayTransport

/// Work in lanes: what is in one lane is done in order, and no lane waits for another.
actor Lanes {
  private let taskScope: TaskScope
  private var waiting: [String: [@Sendable () async throws -> Void]] = [:]
  private var watchers: [CheckedContinuation<Void, Never>] = []
  private var failure: (any Error)?

  init(_ taskScope: TaskScope) { self.taskScope = taskScope }

  /// Does something once everything before it in the lane is done. After a failure nothing more is done in any lane.
  func add(to lane: String, _ work: @escaping @Sendable () async throws -> Void) {
    guard waiting[lane] == nil else {
      waiting[lane]?.append(work)
      return
    }
    waiting[lane] = [work]
    taskScope.add { await self.run(lane) }
  }

  private func run(_ lane: String) async {
    while let work = waiting[lane]?.first, failure == nil {
      do { try await work() } catch { failure = failure ?? error }
      waiting[lane]?.removeFirst()
    }
    waiting[lane] = nil
    if waiting.isEmpty || failure != nil { wake() }
  }

  private func wake() {
    for watcher in watchers { watcher.resume() }
    watchers = []
  }

  /// Waits until everything is done, for at most a time.
  ///
  /// - Returns: whether everything is done.
  /// - Throws: the failure of a work.
  func settle(within limit: Duration) async throws -> Bool {
    if !waiting.isEmpty, failure == nil {
      let timer = Task { if (try? await LoopClock.shared.sleep(for: limit)) != nil { wake() } }
      defer { timer.cancel() }
      await withCheckedContinuation { watchers.append($0) }
    }
    if let failure { throw failure }
    return waiting.isEmpty
  }
}
