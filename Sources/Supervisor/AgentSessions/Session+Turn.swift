internal import AgentRuntime
internal import Logging
internal import RelayConcurrency
internal import RelayModel
internal import RelayStore
internal import SessionStates

// The turn of one message: its life says the next step, and each step's outcome is the next event of its life.
extension Session {
  func perform(_ prompt: Prompt) async {
    var prompt = prompt
    var next = prompt.life.take(.turn)?.next ?? .leave
    // The daemon was about to end before the turn began.
    if phase.isForShutdown { prompt.life.take(.shutDown) }
    current.begin(prompt, now: dependencies.timeSource.now())
    emit(.runStarted(prompt.key, text: prompt.typed))
    await forgetWhatIsOver(before: prompt)
    var turn = Turn(prompt)
    while let event = await carryOut(next, &turn) { next = await take(event, why: turn.why) }
  }

  /// Continues a turn that the process before this one began: its agent works.
  func resumeAdoptedRun() async {
    guard let prompt = current.run?.prompt else { return }
    let watch = RunWatch(self)
    defer { watch.close() }
    var turn = Turn(prompt)
    let event = await noted(await ending(), &turn)
    var next = await take(event, why: turn.why)
    while let event = await carryOut(next, &turn) { next = await take(event, why: turn.why) }
  }

  /// Feeds an event to the life of the message whose turn it is, and stores the stage that follows.
  ///
  /// - Returns: the next step; `leave` when there is no such message.
  func take(_ event: MessageLifecycle.Event, why: String = "") async -> MessageLifecycle.Next {
    guard let key = current.run?.prompt.key else { return .leave }
    guard let reaction = current.run?.prompt.life.take(event) else {
      logger.error("\(event) means nothing to a message that is \(current.run?.prompt.life.state as Any)")
      return .leave
    }
    // In the queue before anything is awaited: a stop, a withdrawal, an edit or a close must find the message there.
    if reaction.next == .queueInFront { returnToQueue(why) }
    if let change = reaction.persist { await advance(key, change) }
    return reaction.next
  }

  /// Carries out one step.
  ///
  /// - Returns: its outcome; `nil` when the turn is over.
  private func carryOut(_ step: MessageLifecycle.Next, _ turn: inout Turn) async -> MessageLifecycle.Event? {
    switch step {
    case .startAgent: return await startAgent(&turn)
    case .ask(let question): return .chose(await ask(question, turn))
    case .lookUp: return await lookUp(&turn)
    case .prepare: return await prepare(&turn)
    case .record(let change):
      await record(change)
      return .recorded
    case .give: return await give(&turn)
    // `take` has put it there.
    case .queueInFront: break
    case .end(let conclusion): await conclude(conclusion, turn)
    // The message stays as it is stored: the next daemon continues.
    case .leave, .wait, .interrupt: current.finish()
    }
    return nil
  }

  // MARK: - Steps

  private func startAgent(_ turn: inout Turn) async -> MessageLifecycle.Event {
    // An earlier try's report of its end says nothing about this one.
    current.forgetEnd()
    // Stopped before it began to start.
    if current.run?.prompt.life.evidence.interruption == .aborting { return .agentUnavailable }
    do {
      turn.connection = try await agent.connected(for: self)
      return .agentReady
    } catch {
      turn.why = "\(error)"
      logger.error("the agent did not start: \(error)")
      return .agentUnavailable
    }
  }

  private func ask(_ question: MessageLifecycle.Question, _ turn: Turn) async -> MessageLifecycle.Choice? {
    let words = dependencies.quote((current.run?.prompt ?? turn.prompt).typed, 200)
    let title =
      switch question {
      case .agentUnavailable: "The message waits, because \(turn.why)\n\(words)"
      case .possiblyTaken: "It is not known whether the agent took this message before it was interrupted: \(words)"
      }
    // No part of the title, by which the next program recognises the question: the number differs while the queue fills.
    let behind = question == .agentUnavailable && !queue.isEmpty ? "\(queue.count) more wait behind it." : nil
    let answer = await questions.ask(
      .message(question), title, details: behind, about: current.run?.prompt.key, for: self)
    guard case .message(let choice)? = answer else { return nil }
    return choice
  }

  private func lookUp(_ turn: inout Turn) async -> MessageLifecycle.Event {
    guard let connection = turn.connection else { return .agentExited(wasGiven: false) }
    guard await transcript.reconcileDispatched(connection, for: self) else { return await noteExit(&turn) }
    let prompt = current.run?.prompt ?? turn.prompt
    let found = await transcript.lookUp(prompt, connection, agent)
    // An agent that exited meanwhile did not say: the next one is asked.
    if found == .inconclusive, current.hasReportedEnd || connection.hasEnded { return await noteExit(&turn) }
    turn.why = "The agent was interrupted while it worked on this."
    return .lookedUp(found)
  }

  private func prepare(_ turn: inout Turn) async -> MessageLifecycle.Event {
    guard let connection = turn.connection else { return .agentExited(wasGiven: false) }
    guard await transcript.reconcileDispatched(connection, for: self) else { return await noteExit(&turn) }
    emit(.questionsOver)
    var prompt: Prompt
    var last: TranscriptPosition
    repeat {
      // The person may change it meanwhile.
      prompt = current.run?.prompt ?? turn.prompt
      turn.prepared = await prepared(prompt)
      last = await transcript.askForPosition(connection, for: self)
    } while current.run.map { $0.prompt.text != prompt.text } ?? false
    if let refusal = agent.facts.refusal(of: turn.prepared) {
      turn.end = .failed(refusal)
      return .refusedByModel
    }
    // An agent that exited meanwhile did not tell the end of its transcript, and is not given the message.
    if current.hasReportedEnd || connection.hasEnded { return await noteExit(&turn) }
    return .prepared(last)
  }

  /// A message whose dispatch the next daemon would not know must not reach the agent: waits until it is stored, or nobody
  /// wants it any more.
  private func record(_ change: StageChange) async {
    var hasTold = false
    while isTurnWanted, let key = current.run?.prompt.key {
      do {
        return try await dependencies.store.advance(key, change, in: id)
      } catch {
        if !hasTold {
          logger.error("a message waits until its dispatch can be stored: \(error)")
          emit(.notice("⚠️ Your message waits: \(error)"))
        }
        hasTold = true
        guard await dependencies.timeSource.sleep(for: .seconds(1)) else { return }
      }
    }
  }

  private func give(_ turn: inout Turn) async -> MessageLifecycle.Event {
    guard let connection = turn.connection else { return .agentExited(wasGiven: false) }
    emit(.messageGiven(turn.prompt.key, text: turn.prompt.typed))
    let ending = await converse(connection, turn.prepared)
    return await noted(ending, &turn)
  }

  // MARK: - The end of the agent or of the run

  private func noted(_ ending: RunEnding, _ turn: inout Turn) async -> MessageLifecycle.Event {
    switch ending {
    case .ended(let end):
      turn.end = end
      if end == .handled { return .handledWithoutRun }
      return current.run?.isAccepted == true ? .runEnded : .refusedByAgent
    case .died(let exit, let words):
      turn.why = "\(exit)" + (words.map { ": \($0)" } ?? "")
      await noteDeath(turn.why)
      return .agentExited(wasGiven: current.run?.isGiven == true)
    }
  }

  /// Waits for the report of an agent that exited before it had the message.
  private func noteExit(_ turn: inout Turn) async -> MessageLifecycle.Event {
    guard current.hasReportedEnd || isTurnWanted else {
      return .agentExited(wasGiven: false)
    }
    return await noted(await ending(), &turn)
  }

  /// Steering messages that an exited agent was not seen to take wait again, unless the session is closed.
  private func noteDeath(_ why: String) async {
    if current.run?.prompt.life.evidence.interruption == .shuttingDown { return }
    let steering = current.run?.removeSteering() ?? []
    if !phase.isOpen { await dropAll(steering) } else { await requeue(steering) }
    guard isTurnWanted else { return }
    agent.exitedInRun()
    logger.warning("pi ended in mid-run with \(why)")
  }

  private func returnToQueue(_ why: String) {
    guard let prompt = current.run?.prompt else { return }
    // An earlier look at the transcript proves nothing about what was given since.
    transcript.forgetLookup(of: prompt.key)
    current.finish()
    emit(.notice("The agent ended (\(why)) before it was seen to take the message; it is started again."))
    queue.prepend([prompt])
  }

  /// Ends the message, with words for the person.
  private func conclude(_ conclusion: Conclusion, _ turn: Turn) async {
    let prompt = current.run?.prompt ?? turn.prompt
    var end = turn.end(for: conclusion, words: dependencies.quote(prompt.typed, 200))
    if end == nil { end = await interruption(turn.interruption(of: prompt.life)) }
    if let end { await conclude(prompt, end) }
  }

  /// The end of the run, which may have come before anybody waited for it.
  private func ending() async -> RunEnding {
    await withCheckedContinuation { current.awaitEnd($0) }
  }

  /// Files are read and encoded: not on the loop.
  func prepared(_ prompt: Prompt) async -> PreparedPrompt {
    guard !prompt.attachments.isEmpty else { return PreparedPrompt(text: prompt.text, images: []) }
    return await withTaskExecutorPreference(globalConcurrentExecutor) { await dependencies.prepare(prompt) }
  }
}
