internal import Logging
internal import RelayConcurrency
package import RelayModel
internal import RelayWire
internal import SessionStates

// The end of a run, by itself, with the agent or with the daemon, and the end of its message.
extension Session {
  /// The end of a run that was cut short.
  package func interruption(_ why: String) async -> RunEnd {
    guard await agent.hasSavedNothing(self) else {
      return .failed(
        "\(why) What was shown of it is above; it is not run again by itself. The session goes on with your next message."
      )
    }
    return .forgotten(
      "\(why) pi had saved nothing of this session yet, so the agent remembers neither this message nor its answer. It is "
        + "not run again by itself; write it again if it is still wanted.")
  }

  /// Steering messages that the run ended without wait for a turn of their own, but for those that have been taken back.
  func requeue(_ steering: [SessionRun.Leftover]) async {
    let left = SessionRun.Requeued(steering)
    // Before anything is awaited: an edit, a withdrawal or a close must find them in the queue.
    queue.prepend(left.waiting.map(\.prompt))
    for end in left.notTaken { await endNotTaken(end) }
    for one in left.waiting { if let change = one.change { await advance(one.prompt.key, change) } }
  }

  /// Ends a message that was taken back while the agent had it, as far as anybody knew.
  func endNotTaken(_ end: MessageEnd) async {
    await store(end)
    emit(.messageNotTaken(end))
  }

  /// Ends steering messages with the run that they were written to.
  func dropAll(_ steering: [SessionRun.Leftover]) async {
    for var left in steering {
      guard let end = left.prompt.abort() else { continue }
      await store(end)
      emit(.messageDropped(end))
    }
  }

  /// Ends the message and its run. A person's word is stored before it is shown, so that no daemon runs the message again.
  func conclude(_ prompt: Prompt, _ end: RunEnd) async {
    guard let conclusion = prompt.life.conclusion,
      let message = MessageEnd(prompt.key, prompt.life, outcome: end.outcome)
    else {
      logger.error("a turn ended before its message, which is \(prompt.life.state)")
      return current.finish()
    }
    if conclusion.outcome == .stopped || end == .aborted && conclusion.stage == .dropped { await store(message) }
    current.run?.creditUnknownUserMessages()
    let isQuestionsOwner = runAtWork != nil
    let taken = current.run?.takeTaken() ?? []
    let left = current.run?.removeSteering() ?? []
    current.finish()
    current.forgetEnd()
    retention.messageEnded(now: dependencies.timeSource.wallTime())
    agent.runEnded()
    // Others are of a turn that was begun in the terminal.
    if isQuestionsOwner { questions.cancelDialogs("the run has ended", connection) }
    questions.withdrawAllOwn("the run has ended")
    for end in taken { emit(.messageTaken(end)) }
    emit(.questionsOver)
    emit(.runEnded(message, end))
    if !left.isEmpty {
      // pi may hold copies for its next prompt; they live in its memory only.
      if !phase.isOpen, !phase.isForShutdown { await dropAll(left) } else { await requeue(left) }
      await stopAgent()
    }
  }
}
