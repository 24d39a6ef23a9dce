internal import AgentRuntime
internal import Logging
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayWire
internal import SessionStates

// The loop of work: one message after another, each until it has ended one way or another.
extension Session {
  /// Runs until `close`.
  package func work() async {
    // The run is one that this program's predecessor began.
    if current.run != nil { await resumeAdoptedRun() }
    if retention.mustForget { await beginAnew() }
    while phase.isOpen, !Task.isCancelled {
      guard let next = queue.popFirst() else {
        await waitForWork()
        continue
      }
      switch next {
      case .prompt(let prompt):
        await perform(prompt)
        if retention.mustForget { await beginAnew() }
      case .compaction(let compaction): compaction.answer(await performCompaction(compaction.instructions))
      }
      if current.run == nil, model.takeRestart() { await stopAgent() }
      if queue.isEmpty { await dependencies.places.becameIdle() }
    }
    await stopAgent()
    phase.take(.workEnded)
    for waiter in workWaiters { waiter.resume() }
    workWaiters = []
  }

  /// Clears the transcript where it is out of date.
  func forgetWhatIsOver(before prompt: Prompt) async {
    guard let memory = retention.mayBeOver(before: prompt) else { return }
    let now = dependencies.timeSource.wallTime()
    if await withTaskExecutorPreference(globalConcurrentExecutor, operation: { memory.isOver(now: now) }) {
      await beginAnew()
    }
  }

  /// Clears the transcript: the next message begins a new one.
  private func beginAnew() async {
    retention.forgotten()
    await stopAgent()
    transcript.clear()
    do {
      let memory = retention.memory
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try memory?.forget() }
    } catch {
      logger.error("the transcript could not be removed: \(error)")
    }
  }

  private func waitForWork() async {
    guard agent.isIdle, let limit = settings.idleTimeout else {
      _ = await wakes.next()
      return
    }
    let wakes = wakes
    let woken: Void?? = try? await withDeadline(limit, clock: dependencies.timeSource.clock) { await wakes.next() }
    if woken == nil, phase.isOpen, isIdle {
      logger.info("idle for \(limit.forPeople), its agent is ended until it is needed")
      await stopAgent()
    }
  }

  // MARK: - Compaction

  /// Shortens the session's context, when everything before has run. Answers with words for the person; nil when the
  /// daemon ends first.
  package func compact(_ instructions: String?) async -> String? {
    await withCheckedContinuation { continuation in
      guard phase.isOpen else {
        return continuation.resume(returning: phase.isForShutdown ? nil : "The session is closed.")
      }
      queue.enqueue(PromptQueue.Compaction(instructions: instructions) { continuation.resume(returning: $0) })
      wakes.post(())
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
    current.beginCompaction()
    defer { current.finish() }
    do {
      let connection = try await agent.connected(for: self)
      guard !current.isCompactionStopped else { return NoticeText.compactionStopped }
      agent.compactionBegan()
      defer { agent.compactionEnded() }
      let answer = try await connection.send(.compact(instructions: instructions), within: .seconds(300))
      return NoticeText.compacted(
        tokensBefore: try? answer.data(PiCompaction.self).tokensBefore,
        error: answer.success ? nil : answer.error ?? "the agent refused")
    } catch {
      if phase.isForShutdown { return nil }
      return current.isCompactionStopped
        ? NoticeText.compactionStopped : NoticeText.compacted(tokensBefore: nil, error: "\(error)")
    }
  }
}
