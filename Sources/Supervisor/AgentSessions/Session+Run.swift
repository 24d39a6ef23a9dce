internal import AgentRuntime
internal import Glibc
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayTransport
internal import SessionStates

// The talk with the agent about one message: the message is written, and the agent's events become events for watchers and
// the end of the run.
extension Session {
  // MARK: - The message

  /// Sends the prompt and waits until the run has ended one way or another.
  func converse(_ connection: PiConnection, _ prepared: PreparedPrompt) async -> RunEnding {
    let generation = current.generation
    let watch = RunWatch(self)
    defer { watch.close() }
    return await withCheckedContinuation { continuation in
      // The agent may have exited while the message was being prepared.
      let isOver = current.hasReportedEnd
      current.awaitEnd(continuation)
      if isOver { return }
      taskScope.add(on: prepared.images.isEmpty ? EventLoop.shared : nil) { [self] in
        await send(prepared, connection, generation)
      }
      watch.watchStart(of: connection, self)
    }
  }

  private func send(_ prepared: PreparedPrompt, _ connection: PiConnection, _ generation: Generation) async {
    guard current.run(generation) != nil else { return }
    current.run?.isGiven = true
    do {
      // No limit of its own: an extension's command may first ask the person something. `RunWatch` ends an agent that does not begin.
      let answer = try await connection.send(.prompt(prepared.text, images: prepared.images), within: nil)
      guard current.run(generation) != nil else { return }
      guard answer.success else {
        current.reportEnd(.ended(.failed(answer.error ?? "the agent refused the message without saying why")))
        return
      }
      if isAttached { return take(disposition: try? answer.data(PiDisposition.self).disposition) }
      await settleHandled(connection, generation)
    } catch {
      guard error != .ended, current.run(generation) != nil else { return }
      logger.warning("a message could not be given to pi, which is ended: \(error)")
      connection.kill()
    }
  }

  /// An extension's command may be handled without a run. pi's next answer comes after it would have started one.
  private func settleHandled(_ connection: PiConnection, _ generation: Generation) async {
    guard current.run(generation)?.started == false else { return }
    current.run?.isAnswered = true
    guard !questions.hasDialogs, let answer = try? await connection.send(.getState, within: pi.answerTimeout),
      let now = try? answer.data(PiState.self), current.run(generation)?.started == false, !questions.hasDialogs,
      now.isStreaming != true, now.isCompacting != true
    else { return }
    current.reportEnd(.ended(current.run?.endWithoutRun ?? .handled))
  }

  /// A question of a command has been settled: it may be done now.
  func resumeHandling() {
    guard let run = current.run, run.isAnswered, !run.started, !questions.hasDialogs, let connection else { return }
    let generation = current.generation
    taskScope.add(on: EventLoop.shared) { [self] in await settleHandled(connection, generation) }
  }

  // MARK: - Events

  /// - Returns: false when the daemon is stopping: nothing listens.
  func beginListening(to connection: PiConnection, slot: AgentSlot) -> Bool {
    taskScope.add(on: EventLoop.shared) { [self] in await listen(to: connection, slot: slot) }
  }

  private func listen(to connection: PiConnection, slot: AgentSlot) async {
    while let item = await connection.incoming.next() {
      switch item {
      case .text(let text): emit(.text(text))
      case .event(let event): await take(event, connection)
      case .answer(let answer): answer.deliver()
      case .end: break
      }
    }
    connection.stopListening()
    ended(connection, await agent.cleanUp(after: connection, slot: slot))
  }

  private func ended(_ connection: PiConnection, _ exit: TerminationStatus) {
    // An agent that was told to exit has been accounted for.
    guard agent.exited(connection) else { return }
    questions.withdrawDialogs("the agent has ended")
    if isAttached { noteAbsence() }
    questions.withdrawApprovals("the agent has ended")
    current.reportEnd(.died(exit, connection.lastError))
    wakes.post(())
  }

  private func take(_ event: PiEvent, _ connection: PiConnection) async {
    if case .agentStart = event, let run = current.run {
      agent.runStarted()
      emit(.agentStarted)
      // Messages that pi had queued itself run on after an abort; they are stopped too.
      if run.aborting { taskScope.add { _ = try? await connection.send(.abort, within: Self.abortLimit) } }
    }
    agent.note(event)
    let verdict = current.take(event, settles: agent.settles(connection))
    if case .messageStart("user", _) = event, let prompt = current.run?.mayBeTaken {
      emit(.messageMayBeTaken(prompt.key))
    }
    for taken in current.run?.takeTaken() ?? [] { emit(.messageTaken(taken)) }
    report(event, connection)
    switch verdict {
    case .goesOn: break
    case .takesMessage: _ = await take(.userMessageSeen)
    case .over(let end): current.reportEnd(.ended(end))
    case .overUnlessContinued: endWhenQuiet()
    }
  }

  private func open(_ dialog: PiDialog, _ connection: PiConnection) {
    // A run that is being stopped asks nothing any more: abort would wait for the answer.
    if runAtWork?.aborting == true { return questions.cancel(dialog.id, connection) }
    questions.keepOpen(dialog, for: self)
    emit(.dialogOpened(Question(dialog, origin: .agent), of: runAtWork?.prompt.key))
  }

  private func endWhenQuiet() {
    let moment = current.beginQuietMoment()
    taskScope.add(on: EventLoop.shared) { [self, timeSource = dependencies.timeSource] in
      if await timeSource.sleep(for: Self.quietAfterEnd) { await endQuietMoment(moment) }
    }
  }

  private func endQuietMoment(_ moment: CurrentWork.QuietMoment) { current.endQuietMoment(moment) }

  private func report(_ event: PiEvent, _ connection: PiConnection) {
    switch event {
    case .typed(let text): emit(.typed(text))
    case .messageEnd(let message) where message.role == "assistant": emit(.messageEnded(message))
    case .toolStart(let id, let name, let arguments): emit(.toolStarted(id: id, name: name, arguments: arguments))
    case .toolEnd(let id, let name, let failed, let images):
      emit(.toolEnded(id: id, name: name, failed: failed, images: images))
    case .dialog(let dialog): open(dialog, connection)
    case .dialogWithdrawn(let id, let why):
      questions.withdraw(id, dependencies.quote(why, 200))
      resumeHandling()
    case .response(let response):
      if !response.success, current.run?.isAccepted == false {
        current.reportEnd(.ended(.failed(response.error ?? "the agent refused the message")))
      }
    case .sessionName(let name?):
      if !name.isEmpty, name != self.name {
        self.name = name
        emit(.nameOrModelChanged)
      }
    // The end of the message says that its command failed.
    case .extensionError(let source, _) where current.run?.calls(source) == true: break
    // The caller that waits for the answer tells of a compaction that was asked for.
    case .compactionStart where agent.isCompacting: break
    case .compactionEnd:
      if !agent.isCompacting { tell(of: event) }
      resumeHandling()
    default: tell(of: event)
    }
  }

  private func tell(of event: PiEvent) {
    if let words = notices.event(for: event) { emit(words) }
  }
}
