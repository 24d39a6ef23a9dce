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
    if run != nil { await goOn() }
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
      if queue.isEmpty { await surroundings.places.becameIdle() }
    }
    await stopAgent()
    workIsOver = true
    for waiter in workWaiters { waiter.resume() }
    workWaiters = []
  }

  /// What may be with the agent already is looked for in what it remembers.
  private func forgetWhatIsOver(before prompt: Prompt) async {
    guard let memory, !prompt.isUncertain, prompt.attempts == 0 else { return }
    let now = Date().timeIntervalSince1970
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
      surroundings.log("session \(name): what was said could not be removed: \(error)")
    }
  }

  private func waitForWork() async {
    guard activity == .idle, let limit = settings.idleTimeout else {
      _ = await wakes.next()
      return
    }
    let wakes = wakes
    let woken: Void?? = try? await withDeadline(limit, clock: surroundings.timekeeper.clock) { await wakes.next() }
    if woken == nil, !closed, isIdle {
      surroundings.log("session \(name): idle for \(limit.forPeople), its agent is ended until it is needed")
      await stopAgent()
    }
  }

  private func perform(_ prompt: Prompt) async {
    run = SessionRun(prompt: prompt, began: surroundings.timekeeper.now())
    earlyEnding = nil
    runNumber += 1
    emit(.runStarted(prompt.key, text: prompt.typed))
    await forgetWhatIsOver(before: prompt)
    guard let connection = await connected(for: prompt) else { return }
    guard await lookUpHoldings(connection) else { return await notGiven(prompt) }
    if prompt.isUncertain {
      guard await mayRun(run?.prompt ?? prompt, connection) else { return }
      run?.prompt?.isUncertain = false
      run?.prompt?.entryBefore = nil
    }
    emit(.questionsOver)
    // It may have been changed while the agent started.
    var prompt = run?.prompt ?? prompt
    var prepared = await prepared(prompt)
    while let changed = run?.prompt, changed != prompt {
      prompt = changed
      prepared = await self.prepared(prompt)
    }
    run?.isDispatched = true
    if let refusal = refusal(of: prepared) {
      await conclude(prompt, .failed(refusal), .dropped)
      return
    }
    let last = await lastEntry(connection)
    if isParked { return leave() }
    // One that died meanwhile did not say where the session stood, and is not given the message.
    if earlyEnding != nil || connection.hasEnded { return await notGiven(prompt) }
    await storeDispatch(of: prompt, after: last)
    if isParked { return leave() }
    guard run?.aborting == false else {
      await conclude(prompt, .aborted, .dropped)
      return
    }
    emit(.messageGiven(prompt.key))
    let ending = await converse(connection, prepared)
    await finish(prompt, ending, after: last)
  }

  /// Nothing could be given to the agent.
  private func notGiven(_ prompt: Prompt) async {
    if isParked { return leave() }
    guard earlyEnding != nil || run?.aborting == false && !closed else {
      return await conclude(prompt, .aborted, .dropped)
    }
    await finish(prompt, await ending(), after: nil)
  }

  /// The end of the run, which may have come before anybody waited for it.
  private func ending() async -> Ending {
    await withCheckedContinuation { continuation in
      if let early = earlyEnding { continuation.resume(returning: early) } else { runWaiter = continuation }
    }
  }

  /// Files are read and encoded: not on the loop.
  func prepared(_ prompt: Prompt) async -> PreparedPrompt {
    guard !prompt.attachments.isEmpty else { return PreparedPrompt(text: prompt.text, images: []) }
    return await withTaskExecutorPreference(globalConcurrentExecutor) { await surroundings.prepare(prompt) }
  }

  /// The agent, for a message. Where it does not start, the message waits for the person's word.
  ///
  /// - Returns: nil when the message has ended or stays as it is stored.
  private func connected(for prompt: Prompt) async -> PiConnection? {
    var isFirst = true
    while true {
      let why: String
      // What an earlier try said about its end says nothing of this one.
      earlyEnding = nil
      do { return try await connected() } catch { why = "\(error)" }
      if isParked {
        leave()
        return nil
      }
      // One that was killed as it began is simply started again.
      if isFirst, run?.aborting == false, !closed {
        isFirst = false
        surroundings.log("session \(name): \(why); tried once more")
        continue
      }
      let behind = queue.isEmpty ? "" : "\n\(queue.count) more wait behind it."
      let question =
        "The message waits, because \(why)\n\(surroundings.quote((run?.prompt ?? prompt).typed, 200))\(behind)"
      let isWanted = run?.aborting != true && !closed
      let answer = isWanted ? await ask(question, ["Try again", "Drop"]) : nil
      if isParked {
        leave()
        return nil
      }
      if answer == "Try again", run?.aborting == false { continue }
      // Who cannot be asked, a script for one, is told why.
      let end: RunEnd = isWanted && answer == nil && run?.aborting == false ? .failed(why) : .aborted
      // An agent before this one may have taken it.
      await conclude(prompt, end, prompt.isUncertain ? .interrupted : .dropped)
      return nil
    }
  }

  func refusal(of prepared: PreparedPrompt) -> String? {
    guard !prepared.images.isEmpty, let model = state?.model, let input = model.input, !input.contains("image") else {
      return nil
    }
    return "The model \(model.name ?? model.id) takes no images, so the message was not sent. "
      + "Choose another with /model, or send it without the image."
  }

  /// Sends the prompt and waits until the run has ended one way or another.
  private func converse(_ connection: PiConnection, _ prepared: PreparedPrompt) async -> Ending {
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
  private func watchRun(_ number: Int) -> [Mailbox<Void>] {
    let watches = [Mailbox<Void>(), Mailbox<Void>()]
    watchTime(number, watches[0])
    watchSilence(number, watches[1])
    return watches
  }

  private func watchTime(_ number: Int, _ over: Mailbox<Void>) {
    guard let limit = settings.callTimeout, let left = run?.timeLeft(of: limit, now: surroundings.timekeeper.now())
    else {
      return
    }
    taskScope.add(on: EventLoop.shared) { [self, clock = surroundings.timekeeper.clock] in
      do {
        try await withDeadline(left, clock: clock) { _ = await over.next() }
      } catch {
        await timeOut(number, limit)
      }
    }
  }

  /// Waits for the end of a run that the program before this one began.
  private func goOn() async {
    guard let prompt = run?.prompt else { return }
    let watches = watchRun(runNumber)
    defer { for watch in watches { watch.close() } }
    await finish(prompt, await ending(), after: nil)
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
      surroundings.log("session \(name): a message could not be given to pi, which is ended: \(error)")
      connection.child.signal(SIGKILL)
    }
  }

  /// Ends a pi that neither begins a run nor answers, unless it waits for a person.
  private func watchStart(_ connection: PiConnection, _ number: Int, _ over: Mailbox<Void>) async {
    while true {
      do {
        try await withDeadline(pi.answerTimeout, clock: surroundings.timekeeper.clock) { _ = await over.next() }
        return
      } catch is CancellationError {
        return
      } catch {
        // The time is over, the run is not.
      }
      guard isCurrent(number), run?.started == false else { return }
      guard openDialogs.isEmpty, run?.isAnswered != true else { continue }
      surroundings.log("session \(name): pi took no message within \(pi.answerTimeout.forPeople) and is ended")
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
    emit(.timedOut(run?.prompt?.key, after: limit))
    _ = await abort()
  }

  func endRun(_ ending: Ending) {
    if let waiter = runWaiter {
      runWaiter = nil
      waiter.resume(returning: ending)
    } else if run != nil {
      // Nobody waits yet. Before a message is given to pi only a death ends its run.
      if case .ended = ending, run?.accepted != true { return }
      earlyEnding = ending
    }
  }

  /// What the next daemon would not know of must not reach the agent: waits until it can be stored, or nobody wants it.
  private func storeDispatch(of prompt: Prompt, after last: String?) async {
    var hasTold = false
    while run?.aborting == false, !closed {
      do {
        return try await surroundings.store.advance(prompt.key, to: .dispatching(session: id, after: last))
      } catch {
        if !hasTold {
          surroundings.log("session \(name): a message is not given to the agent before that is stored: \(error)")
          emit(.notice("⚠️ Your message waits: \(error)"))
        }
        hasTold = true
        guard await surroundings.timekeeper.sleep(for: .seconds(1)) else { return }
      }
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
