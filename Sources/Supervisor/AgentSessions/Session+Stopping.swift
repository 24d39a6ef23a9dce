internal import AgentRuntime
internal import Glibc
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
package import RelayModel
internal import RelayWire
package import SessionStates

// Stops: of the work in progress, of a whole session, and of the daemon.
extension Session {
  /// Interrupts what the agent is doing. Waiting messages run next.
  package func abort() async -> StoppedWork {
    switch current.stop() {
    case .nothing: return await abortInTerminal() ? .run : .nothing
    case .compaction:
      // pi has no command that interrupts a compaction. A process that ends in the middle leaves the session as it was.
      agent.cancelWait()
      await stopAgent()
      return .compaction
    case .run:
      questions.withdrawAllOwn("the run was stopped")
      agent.cancelWait()
      guard let connection else { return .run }
      questions.cancelDialogs("the run was stopped", connection)
      let steering = current.run?.removeSteering() ?? []
      let generation = current.generation
      taskScope.add { [self] in await endAbort(connection, generation) }
      await dropAll(steering)
      return .run
    }
  }

  /// Ends the agent's process, whatever it does. The work to come starts another, or waits until the person has.
  package func endAgent() async {
    _ = await abort()
    if isAttached { await endInTerminal() } else { await stopAgent() }
  }

  private func endAbort(_ connection: PiConnection, _ generation: Generation) async {
    // Newer releases keep a queue of their own; older ones do not know the command.
    _ = try? await connection.send(.clearQueue, within: .seconds(2))
    guard current.run(generation) != nil else { return }
    do {
      _ = try await connection.send(.abort, within: Self.abortLimit)
    } catch .timedOut {
      guard current.run(generation) != nil else { return }
      logger.warning("pi did not stop within \(Self.abortLimit.forPeople) and is ended")
      connection.kill()
    } catch {
      // It has ended: the run has too.
    }
  }

  /// The message whose turn it is may still be given to the agent.
  var isTurnWanted: Bool { phase.isOpen && current.run?.prompt.life.evidence.interruption == nil }

  // MARK: - The session

  /// Closes an assistant's session to what arrives from now on, where it has had nothing to do for so long that it is not
  /// needed any more; `close` must follow.
  package func beginsToCloseIfUnused(for limit: Duration) -> Bool {
    let now = dependencies.timeSource.wallTime()
    guard phase.isOpen, !isBusy, !questions.hasOwn, retention.isUnused(for: limit, now: now) else { return false }
    phase.take(.closed)
    return true
  }

  /// Ends the session: what waits is dropped, what runs is stopped, and both are told.
  package func close() async {
    phase.take(.closed)
    let dropped = queue.removeAll()
    current.run?.prompt.life.take(.aborted)
    questions.withdrawAllOwn("the session was closed")
    wakes.close()
    agent.cancelWait()
    for work in dropped {
      switch work {
      case .prompt(var prompt):
        guard let end = prompt.abort() else { continue }
        await store(end)
        emit(.runEnded(end, .aborted))
      case .compaction(let compaction): compaction.answer("The session was closed.")
      }
    }
    await stopAgent()
    // The run in progress still has to say how it ended.
    await waitForEndOfWork()
    do { try retention.memory?.forget() } catch {
      logger.error("the transcript could not be removed: \(error)")
    }
    emit(.closed)
  }

  private func waitForEndOfWork() async {
    if !phase.isFinished { await withCheckedContinuation { workWaiters.append($0) } }
  }

  /// Drops the messages of these conversations that wait.
  ///
  /// - Returns: their number.
  package func drop(from isMeant: (ConversationKey) -> Bool) async -> Int {
    let ends = queue.removeAll(from: isMeant).compactMap { prompt in
      var prompt = prompt
      return prompt.abort()
    }
    for end in ends {
      await store(end)
      emit(.messageDropped(end))
    }
    return ends.count
  }

  /// The messages of an instance that will not be back: nobody is left to say what is to become of them.
  package func drop(instance: String) async {
    _ = await drop { $0.instance == instance }
    guard current.run?.prompt.key.conversation.instance == instance, questions.awaitsDecision else { return }
    current.run?.prompt.life.take(.aborted)
    questions.withdrawAllOwn("the terminal that was asked is gone")
  }

  // MARK: - The daemon

  /// The daemon is about to end: what cannot begin any more is no failure.
  package func willPark() {
    phase.take(.shutdownAnnounced)
    current.run?.prompt.life.take(.shutDown)
  }

  /// Ends the agent because the daemon ends. What waits, or is not known to be with the agent, is found by the next
  /// daemon. Answers what was cut short, in words; nil when nothing was.
  package func shutDown() async -> String? {
    let isRunning = current.run?.isAccepted == true
    phase.take(.shutDown)
    current.run?.prompt.life.take(.shutDown)
    for case .compaction(let compaction) in queue.removeAll() { compaction.answer(nil) }
    questions.withdrawApprovals("pi-relayd is stopping")
    questions.withdrawAllOwn("pi-relayd is stopping; it asks again after the next start")
    wakes.close()
    agent.cancelWait()
    if isAttached {
      // They stay open in the terminal.
      questions.withdrawDialogs("pi-relayd is stopping")
    } else {
      questions.cancelDialogs("pi-relayd is stopping, and the agent with it", connection)
    }
    await stopAgent()
    await waitForEndOfWork()
    return isRunning ? "session \(name): the running answer was cut short" : nil
  }
}
