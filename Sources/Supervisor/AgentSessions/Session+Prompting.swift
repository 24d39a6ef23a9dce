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

// The talk with the agent about one message: writing it, and waiting for the end of its run.
extension Session {
  func refusal(of prepared: PreparedPrompt) -> String? {
    guard !prepared.images.isEmpty, let model = state?.model, let input = model.input, !input.contains("image") else {
      return nil
    }
    return "The model \(model.name ?? model.id) takes no images, so the message was not sent. "
      + "Choose another with /model, or send it without the image."
  }

  /// Sends the prompt and waits until the run has ended one way or another.
  func converse(_ connection: PiConnection, _ prepared: PreparedPrompt) async -> Ending {
    let number = runNumber
    let watches = watchRun(number)
    let startIsOver = Mailbox<Void>()
    defer {
      for watch in watches { watch.close() }
      startIsOver.close()
    }
    return await withCheckedContinuation { continuation in
      // It may have died while the message was being prepared.
      if let early = earlyEnding {
        continuation.resume(returning: early)
        return
      }
      runWaiter = continuation
      taskScope.add(on: prepared.images.isEmpty ? EventLoop.shared : nil) { [self] in
        await send(prepared, connection, number)
      }
      taskScope.add(on: EventLoop.shared) { [self] in await watchStart(connection, number, startIsOver) }
    }
  }

  /// - Returns: what is to be closed when the run is over.
  func watchRun(_ number: Int) -> [Mailbox<Void>] {
    let watches = [Mailbox<Void>(), Mailbox<Void>()]
    watchTime(number, watches[0])
    watchSilence(number, watches[1])
    return watches
  }

  private func watchTime(_ number: Int, _ over: Mailbox<Void>) {
    guard let limit = settings.callTimeout, let left = run?.timeLeft(of: limit, now: dependencies.timekeeper.now())
    else {
      return
    }
    taskScope.add(on: EventLoop.shared) { [self, clock = dependencies.timekeeper.clock] in
      do {
        try await withDeadline(left, clock: clock) { _ = await over.next() }
      } catch {
        await timeOut(number, limit)
      }
    }
  }

  private func isCurrent(_ number: Int) -> Bool { runNumber == number && run != nil }

  private func send(_ prepared: PreparedPrompt, _ connection: PiConnection, _ number: Int) async {
    run?.isGiven = true
    do {
      // No limit of its own: an extension's command may first ask the person something. `watchStart` sees to the rest.
      let answer = try await connection.send(.prompt(prepared.text, images: prepared.images), within: nil)
      guard isCurrent(number) else { return }
      guard answer.success else {
        endRun(.ended(.failed(answer.error ?? "the agent refused the message without saying why")))
        return
      }
      await settleHandled(connection, number)
    } catch {
      guard error != .ended, isCurrent(number) else { return }
      dependencies.log("session \(name): a message could not be given to pi, which is ended: \(error)")
      connection.child.signal(SIGKILL)
    }
  }

  /// Ends a pi that neither begins a run nor answers, unless it waits for a person.
  private func watchStart(_ connection: PiConnection, _ number: Int, _ over: Mailbox<Void>) async {
    while true {
      do {
        try await withDeadline(pi.answerTimeout, clock: dependencies.timekeeper.clock) { _ = await over.next() }
        return
      } catch is CancellationError {
        return
      } catch {
        // The time is over, the run is not.
      }
      guard isCurrent(number), run?.started == false else { return }
      guard openDialogs.isEmpty, run?.isAnswered != true else { continue }
      dependencies.log("session \(name): pi took no message within \(pi.answerTimeout.forPeople) and is ended")
      connection.child.signal(SIGKILL)
      return
    }
  }

  /// An extension's command may be handled without a run. pi's next answer comes after it would have started one.
  private func settleHandled(_ connection: PiConnection, _ number: Int) async {
    guard isCurrent(number), run?.started == false else { return }
    run?.isAnswered = true
    guard openDialogs.isEmpty, let answer = try? await connection.send(.getState, within: pi.answerTimeout),
      let now = try? answer.data(PiState.self), isCurrent(number), run?.started == false, openDialogs.isEmpty,
      now.isStreaming != true, now.isCompacting != true
    else { return }
    endRun(.ended(.handled))
  }

  /// A question of a command has been settled: it may be done now.
  func resumeHandling() {
    guard run?.isAnswered == true, run?.started == false, openDialogs.isEmpty, let connection else { return }
    let number = runNumber
    taskScope.add(on: EventLoop.shared) { [self] in await settleHandled(connection, number) }
  }

  private func timeOut(_ number: Int, _ limit: Duration) async {
    guard isCurrent(number) else { return }
    emit(.timedOut(run?.prompt.key, after: limit))
    _ = await abort()
  }

  func endRun(_ ending: Ending) {
    // Before a message is written to pi only pi's exit ends its run: pi may work on something of its own.
    if case .ended = ending, run?.isGiven != true { return }
    if let waiter = runWaiter {
      runWaiter = nil
      waiter.resume(returning: ending)
    } else if run != nil {
      earlyEnding = ending
    }
  }
}
