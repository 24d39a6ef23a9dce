internal import AgentRuntime
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayTransport
internal import RelayWire
internal import SessionStates

// The talk with the agent about one message: writing it, and waiting for the end of its run.
extension Session {
  /// Sends the prompt and waits until the run has ended one way or another.
  func converse(_ connection: PiConnection, _ prepared: PreparedPrompt) async -> RunEnding {
    let generation = current.generation
    let watches = watchRun(generation)
    let startIsOver = Mailbox<Void>()
    defer {
      for watch in watches { watch.close() }
      startIsOver.close()
    }
    return await withCheckedContinuation { continuation in
      // It may have died while the message was being prepared.
      let isOver = current.hasReportedEnd
      current.awaitEnd(continuation)
      if isOver { return }
      taskScope.add(on: prepared.images.isEmpty ? EventLoop.shared : nil) { [self] in
        await send(prepared, connection, generation)
      }
      taskScope.add(on: EventLoop.shared) { [self] in await watchStart(connection, generation, startIsOver) }
    }
  }

  /// - Returns: what is to be closed when the run is over.
  func watchRun(_ generation: Generation) -> [Mailbox<Void>] {
    let watches = [Mailbox<Void>(), Mailbox<Void>()]
    watchTime(generation, watches[0])
    watchSilence(generation, watches[1])
    return watches
  }

  private func watchTime(_ generation: Generation, _ over: Mailbox<Void>) {
    guard let limit = settings.callTimeout,
      let left = current.run?.timeLeft(of: limit, now: dependencies.timeSource.now())
    else {
      return
    }
    taskScope.add(on: EventLoop.shared) { [self, clock = dependencies.timeSource.clock] in
      do {
        try await withDeadline(left, clock: clock) { _ = await over.next() }
      } catch {
        await timeOut(generation, limit)
      }
    }
  }

  private func send(_ prepared: PreparedPrompt, _ connection: PiConnection, _ generation: Generation) async {
    guard current.run(generation) != nil else { return }
    current.run?.isGiven = true
    do {
      // No limit of its own: an extension's command may first ask the person something. `watchStart` sees to the rest.
      let answer = try await connection.send(.prompt(prepared.text, images: prepared.images), within: nil)
      guard current.run(generation) != nil else { return }
      guard answer.success else {
        current.reportEnd(.ended(.failed(answer.error ?? "the agent refused the message without saying why")))
        return
      }
      await settleHandled(connection, generation)
    } catch {
      guard error != .ended, current.run(generation) != nil else { return }
      logger.warning("a message could not be given to pi, which is ended: \(error)")
      connection.child.signal(SIGKILL)
    }
  }

  /// Ends a pi that neither begins a run nor answers, unless it waits for a person.
  private func watchStart(_ connection: PiConnection, _ generation: Generation, _ over: Mailbox<Void>) async {
    while true {
      do {
        try await withDeadline(pi.answerTimeout, clock: dependencies.timeSource.clock) { _ = await over.next() }
        return
      } catch is CancellationError {
        return
      } catch {
        // The time is over, the run is not.
      }
      guard let run = current.run(generation), !run.started else { return }
      guard !questions.hasDialogs, !run.isAnswered else { continue }
      logger.warning("pi took no message within \(pi.answerTimeout.forPeople) and is ended")
      connection.child.signal(SIGKILL)
      return
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
    current.reportEnd(.ended(.handled))
  }

  /// A question of a command has been settled: it may be done now.
  func resumeHandling() {
    guard let run = current.run, run.isAnswered, !run.started, !questions.hasDialogs, let connection else { return }
    let generation = current.generation
    taskScope.add(on: EventLoop.shared) { [self] in await settleHandled(connection, generation) }
  }

  private func timeOut(_ generation: Generation, _ limit: Duration) async {
    guard let run = current.run(generation) else { return }
    emit(.timedOut(run.prompt.key, after: limit))
    _ = await abort()
  }
}
