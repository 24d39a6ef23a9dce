internal import AgentRuntime
internal import Glibc
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayTransport
internal import SessionStates

// Turns the events of pi into events for watchers and into the end of runs.
extension Session {
  func listen(to connection: PiConnection, slot: AgentSlot) async {
    while let item = await connection.incoming.next() {
      switch item {
      case .text(let text): emit(.text(text))
      case .event(let event): await take(event, connection)
      case .answer(let answer): answer.deliver()
      case .end: break
      }
    }
    connection.stopListening()
    let exit = await connection.child.tearDown([.wait(.seconds(2))], clock: dependencies.timeSource.clock)
    if settings.leftovers == .kill, let guardian = dependencies.guardian {
      // Looks at every process there is: not on the loop.
      await withTaskExecutorPreference(globalConcurrentExecutor) {
        _ = guardian.endLeftovers(of: context.marker, signal: SIGKILL)
      }
    }
    connection.aftermath.close()
    await slot.release()
    await connection.readErrors()
    ended(connection, exit)
  }

  private func ended(_ connection: PiConnection, _ exit: TerminationStatus) {
    // An agent that was told to exit has been accounted for.
    guard agent.exited(connection) else { return }
    withdrawDialogs("the agent has ended")
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
    facts.note(event)
    let verdict = current.take(event, settles: facts.settles ?? connection.sendsWholeMessages.map { !$0 })
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

  private func endWhenQuiet() {
    let moment = current.beginQuietMoment()
    taskScope.add(on: EventLoop.shared) { [self, timeSource = dependencies.timeSource] in
      if await timeSource.sleep(for: Self.quietAfterEnd) { await endQuietMoment(moment) }
    }
  }

  private func endQuietMoment(_ moment: CurrentWork.QuietMoment) { current.endQuietMoment(moment) }

  private func report(_ event: PiEvent, _ connection: PiConnection) {
    switch event {
    case .messageEnd(let message) where message.role == "assistant": emit(.messageEnded(message))
    case .toolStart(let id, let name, let arguments): emit(.toolStarted(id: id, name: name, arguments: arguments))
    case .toolEnd(let id, let name, let failed, let images):
      emit(.toolEnded(id: id, name: name, failed: failed, images: images))
    case .dialog(let dialog): open(dialog, connection)
    case .response(let response):
      if !response.success, current.run?.isAccepted == false {
        current.reportEnd(.ended(.failed(response.error ?? "the agent refused the message")))
      }
    case .sessionName(let name?):
      if !name.isEmpty, name != self.name {
        self.name = name
        emit(.nameOrModelChanged)
      }
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
