internal import AgentRuntime
internal import Logging
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
package import RelayModel
internal import RelayStore
package import SessionStates

// Messages of people, one of which is with pi at a time, and changes of those that wait.
extension Session {
  package enum Enqueued: Sendable, Equatable {
    /// Work begins at once.
    case next
    /// It waits behind this many.
    case queued(Int)
    /// It waits behind a message about which a person is asked; so many wait in all, that one included.
    case undecided(Int)
    case full(Int)
    /// The session is no more.
    case closed
    /// The daemon ends: the message stays as it is stored.
    case parked

    package var isTaken: Bool {
      switch self {
      case .next, .queued, .undecided: true
      case .full, .closed, .parked: false
      }
    }
  }

  /// Takes a message; it runs when everything before it has.
  package func enqueue(_ prompt: Prompt) -> Enqueued {
    guard phase.isOpen else { return phase.isForShutdown ? .parked : .closed }
    let before = queue.count + (current.run == nil && !agent.isCompacting ? 0 : 1)
    guard queue.enqueue(prompt, limit: settings.maximumQueued) else { return .full(queue.count) }
    wakes.post(())
    if questions.awaitsDecision { return .undecided(before + 1) }
    return before == 0 ? .next : .queued(before)
  }

  package enum Steering: Sendable, Equatable {
    case taken
    /// There is no run that would take it, or it refused.
    case refused
    /// pi has not answered yet. The message stays with the run: it is taken into it, or waits when the run has ended.
    case unanswered
    /// It was taken back meanwhile, and must not be given in another way.
    case withdrawn
  }

  /// Gives a message to the run in progress.
  package func steer(_ prompt: Prompt) async -> Steering {
    // An idle pi would keep the text for its next prompt: only a run that has begun and not ended takes it now.
    guard current.run?.takesSteering == true, let connection else { return .refused }
    let prepared = await prepared(prompt)
    // A message that the model cannot take is queued instead, where the person is told.
    guard current.run?.takesSteering == true, self.connection === connection, agent.facts.refusal(of: prepared) == nil
    else {
      return .refused
    }
    // If the daemon ends before pi is seen to take it, nothing proves whether pi did.
    var prompt = prompt
    guard let change = prompt.life.take(.steered)?.persist else { return .refused }
    do {
      try await dependencies.store.advance(prompt.key, change, in: id)
    } catch {
      logger.error("a message was not given to the working agent: \(error)")
      return .refused
    }
    guard current.run?.takesSteering == true, self.connection === connection else {
      return await refuseSteering(prompt)
    }
    current.run?.steer(prompt, text: prepared.text)
    let command = PiCommand.steer(prepared.text, images: prepared.images)
    do {
      // Pictures are long lines: not on the loop.
      let isTaken = try await withTaskExecutorPreference(prepared.images.isEmpty ? nil : globalConcurrentExecutor) {
        try await connection.send(command, within: pi.answerTimeout).success
      }
      if isTaken { return .taken }
    } catch {
      // If the agent took the message before it exited, its event has already been processed.
      if case .timedOut? = error as? PiError { return .unanswered }
    }
    // It may have been put back into the queue meanwhile.
    guard let left = current.run?.removeSteering(prompt.key) else { return .taken }
    return await refuseSteering(left)
  }

  /// The run does not take the message: it goes another way, unless it was taken back meanwhile.
  private func refuseSteering(_ prompt: Prompt) async -> Steering {
    var prompt = prompt
    let reaction = prompt.life.take(.steeringRefused)
    if let end = MessageEnd(prompt.key, prompt.life) {
      await endNotTaken(end)
      return .withdrawn
    }
    if let change = reaction?.persist { await advance(prompt.key, change) }
    return .refused
  }

  /// The message that the agent works on; `nil` between runs, and in a run that was begun in a terminal.
  package var messageAtWork: MessageKey? { current.run.flatMap { $0.isAccepted ? $0.prompt.key : nil } }

  /// `done` where the agent does not have the message yet.
  package func holds(_ key: MessageKey) -> MessageChange {
    if queue.contains(key) { return .done }
    return current.run?.prompt.key == key || current.run?.steered(key) != nil ? .tooLate : .unknown
  }

  /// Replaces the text of a message that the agent does not have yet.
  package func replace(_ key: MessageKey, text: String, typed: String) -> MessageChange {
    if let change = queue.replace(key, text: text, typed: typed) { return change }
    if current.run?.steered(key) != nil { return .tooLate }
    guard current.run?.prompt.key == key else { return .unknown }
    return current.run?.prompt.replace(text: text, typed: typed) ?? .unknown
  }

  /// Withdraws a message that the agent does not have yet.
  package func withdraw(_ key: MessageKey) async -> MessageChange {
    if let change = queue.withdraw(key) {
      guard case .done(let end) = change else { return .tooLate }
      emit(.messageDropped(end))
      return .done
    }
    if current.run?.withdrawSteering(key) == true { return .tooLate }
    guard current.run?.prompt.key == key else { return .unknown }
    // Too late: it ends only if it turns out not to have arrived.
    guard let reaction = current.run?.prompt.life.take(.withdrawn), !reaction.isTooLate else { return .tooLate }
    questions.withdrawAllOwn("the message was withdrawn")
    agent.cancelWait()
    return .done
  }
}
