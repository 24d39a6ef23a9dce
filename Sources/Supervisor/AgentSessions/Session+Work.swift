internal import AgentRuntime
internal import DequeModule
internal import FoundationEssentials
internal import Glibc
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayTransport
internal import RelayWire

// The loop of work: one message after another, each until it has ended one way or another.
extension Session {
  /// Runs until `close`.
  package func work() async {
    // Of the program that this process was before.
    if run != nil { await resumeAdoptedRun() }
    if isToForget { await beginAnew() }
    while !closed, !Task.isCancelled {
      guard let next = queue.popFirst() else {
        await waitForWork()
        continue
      }
      switch next {
      case .prompt(let prompt):
        await perform(prompt)
        if isToForget { await beginAnew() }
      case .compact(let instructions, let continuation):
        continuation.resume(returning: await performCompaction(instructions))
      }
      if restartsForModel, run == nil {
        restartsForModel = false
        await stopAgent()
      }
      if queue.isEmpty { await dependencies.places.becameIdle() }
    }
    await stopAgent()
    workIsOver = true
    for waiter in workWaiters { waiter.resume() }
    workWaiters = []
  }

  /// Keeps the history where it may prove that the agent already received this message.
  func forgetWhatIsOver(before prompt: Prompt) async {
    guard let memory, !prompt.life.evidence.mayHaveBeenTaken, prompt.life.evidence.attempts == 0 else { return }
    let now = dependencies.timekeeper.wallTime()
    if await withTaskExecutorPreference(globalConcurrentExecutor, operation: { memory.isOver(now: now) }) {
      await beginAnew()
    }
  }

  /// Nothing of what was said is known any more.
  private func beginAnew() async {
    isToForget = false
    await stopAgent()
    lastLeaf = nil
    do {
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try memory?.forget() }
    } catch {
      dependencies.log("session \(name): what was said could not be removed: \(error)")
    }
  }

  private func waitForWork() async {
    guard activity == .idle, let limit = settings.idleTimeout else {
      _ = await wakes.next()
      return
    }
    let wakes = wakes
    let woken: Void?? = try? await withDeadline(limit, clock: dependencies.timekeeper.clock) { await wakes.next() }
    if woken == nil, !closed, isIdle {
      dependencies.log("session \(name): idle for \(limit.forPeople), its agent is ended until it is needed")
      await stopAgent()
    }
  }

  /// Answers with what its watchers were told at its end; nil when the daemon ends first.
  private func performCompaction(_ instructions: String?) async -> String? {
    emit(.progress(.compaction, NoticeText.compacting, isOver: false))
    let end = await endOfCompaction(instructions)
    emit(.progress(.compaction, end, isOver: true))
    return end
  }

  private func endOfCompaction(_ instructions: String?) async -> String? {
    compaction = .wanted
    defer { compaction = nil }
    do {
      let connection = try await connected()
      guard compaction == .wanted else { return NoticeText.compactionStopped }
      activity = .compacting
      defer { activity = self.connection == nil ? .stopped : .idle }
      let answer = try await connection.send(.compact(instructions: instructions), within: .seconds(300))
      return NoticeText.compacted(
        tokensBefore: try? answer.data(PiCompaction.self).tokensBefore,
        error: answer.success ? nil : answer.error ?? "the agent refused")
    } catch {
      if isParked { return nil }
      return compaction == .stopped
        ? NoticeText.compactionStopped : NoticeText.compacted(tokensBefore: nil, error: "\(error)")
    }
  }
}
