internal import AgentRuntime
internal import DequeModule
internal import FoundationEssentials
internal import Glibc
internal import PiRPC
internal import RelayModel
internal import RelayStore

// How a run ends: by itself, with the agent, or with the daemon; and what becomes of its message.
extension Session {
  func finish(_ prompt: Prompt, _ ending: Ending, after last: String?) async {
    switch ending {
    case .ended(let end):
      // A refusal was not taken; anything else was.
      await conclude(prompt, end, run?.accepted == true || end == .handled ? .settled : .dropped)
    case .died(let exit, let words):
      let why = "\(exit)" + (words.map { ": \($0)" } ?? "")
      let wasStopped = closed || run?.aborting == true
      if isParked { return await park(prompt) }
      let steering = run?.removeSteering() ?? []
      if wasStopped {
        if closed { await dropAll(steering) } else { await requeue(steering) }
        await conclude(prompt, .aborted, run?.accepted == true ? .interrupted : .dropped)
        return
      }
      restarts += 1
      surroundings.log("session \(name): pi ended in mid-run with \(why)")
      await requeue(steering)
      guard run?.accepted == true else { return await retry(prompt, why, after: last) }
      await conclude(prompt, await interruption(of: prompt.key, "The agent ended unexpectedly (\(why))."), .interrupted)
    }
  }

  /// The end of a run that was cut short.
  func interruption(of message: MessageKey, _ why: String) async -> RunEnd {
    guard await hasSavedNothing() else {
      return .failed(
        "\(why) What was shown of it is above; it is not run again by itself. The session goes on with your next message."
      )
    }
    return .forgotten(
      "\(why) pi had saved nothing of this session yet, so the agent remembers neither this message nor its answer. It is "
        + "not run again by itself; write it again if it is still wanted.", message)
  }

  /// pi writes a session's file with the first answer, not with the first message. False where the file's place is not
  /// known for certain.
  private func hasSavedNothing() async -> Bool {
    if let file = state?.sessionFile {
      return await withTaskExecutorPreference(globalConcurrentExecutor) { access(file, F_OK) != 0 }
    }
    let program: AgentProgram
    do { program = try await surroundings.agents.program() } catch { return false }
    let launch = launch(of: program)
    return await withTaskExecutorPreference(globalConcurrentExecutor) { launch.hasSavedNothing }
  }

  /// The daemon ends, and the message has not reached the agent: it stays as it is stored.
  func leave() {
    run = nil
  }

  /// The daemon ends in the middle of a run.
  func park(_ prompt: Prompt) async {
    // Whether the agent has it is looked up by the next daemon.
    guard run?.accepted == true else { return leave() }
    await conclude(
      prompt, await interruption(of: prompt.key, "pi-relayd was stopped while the agent worked on this."), .interrupted)
  }

  /// The agent ended and was not seen to take the message: it is sent again, once, unless the session has it.
  func retry(_ prompt: Prompt, _ why: String, after last: String?) async {
    var again = prompt
    again.attempts += 1
    // Whatever was found before it was given.
    holdings?[prompt.key] = nil
    if run?.isGiven == true {
      again.entryBefore = last
      again.isUncertain = true
    }
    again.isWithdrawn = run?.prompt?.isWithdrawn == true
    if closed || run?.aborting == true { return await conclude(prompt, .aborted, .dropped) }
    if again.isWithdrawn, !again.isUncertain { return await conclude(prompt, .withdrawn, .dropped) }
    if again.attempts >= 2 {
      await conclude(
        prompt,
        .failed(
          "The agent ended twice (\(why)) before it took this message, so the message was set aside: "
            + surroundings.quote(prompt.typed, 200)), .dropped)
      return
    }
    run = nil
    emit(.notice("The agent ended (\(why)) before it was seen to take the message; it is started again."))
    queue.prepend(.prompt(again))
    if !again.isUncertain { await advance(again, .received) }
  }

  /// Whether a message that may have reached an earlier life of the agent is to be sent: not when the session has it,
  /// and when nothing proves either way, only by the person's word.
  func mayRun(_ prompt: Prompt, _ connection: PiConnection) async -> Bool {
    switch await holding(of: prompt, connection) {
    case .no where prompt.isWithdrawn:
      await conclude(prompt, .withdrawn, .dropped)
      return false
    case .unknown where prompt.isWithdrawn:
      await conclude(
        prompt,
        .failed("Nothing tells whether the agent took this message before you withdrew it. It is not run again."),
        .interrupted)
      return false
    case .no: return true
    case .yes:
      await conclude(
        prompt, await interruption(of: prompt.key, "The agent was interrupted while it worked on this."), .interrupted)
      return false
    case .unknown:
      if isParked {
        leave()
        return false
      }
      let question =
        "It is not known whether the agent took this message before it was interrupted: "
        + surroundings.quote(prompt.typed, 200)
      let answer = await ask(question, ["Run again", "Drop"])
      if isParked {
        leave()
        return false
      }
      if answer == "Run again", run?.aborting == false { return true }
      await conclude(prompt, .aborted, .dropped)
      return false
    }
  }

  private func holding(of prompt: Prompt, _ connection: PiConnection) async -> Holding {
    var found = holdings?.removeValue(forKey: prompt.key)
    if found == nil { found = await sessionHolds(after: prompt.entryBefore, connection) }
    guard found == .no, await mayBeCommandOfExtension(prompt.text) else { return found ?? .unknown }
    // Should this daemon end before the person has answered, the next asks, too.
    await advance(prompt, .dispatching(session: id, after: nil))
    return .unknown
  }

  /// Such a command is carried out without an entry: that there is none proves nothing.
  func mayBeCommandOfExtension(_ text: String) async -> Bool {
    guard text.hasPrefix("/") else { return false }
    guard let commands = await toldCommands() else { return true }
    let name = text.dropFirst().prefix { !$0.isWhitespace }
    return commands.contains { $0.name == name && $0.source == "extension" }
  }

  /// The agent has not taken these: they wait as before, but for those that have been taken back.
  func requeue(_ steering: [Prompt]) async {
    // Of what the agent may have taken, its session or the person is asked.
    let waiting = steering.filter { $0.isUncertain || !$0.isWithdrawn }
    for prompt in waiting.reversed() { queue.prepend(.prompt(prompt)) }
    for prompt in waiting where !prompt.isUncertain { await advance(prompt, .received) }
    await withdraw(steering.filter { $0.isWithdrawn && !$0.isUncertain })
  }

  /// Ends messages that were taken back while the agent had them, as far as anybody knew.
  func withdraw(_ steering: [Prompt]) async {
    for prompt in steering {
      await drop(prompt)
      emit(.messageNotTaken(prompt.key))
    }
  }

  private func dropAll(_ prompts: [Prompt]) async {
    for prompt in prompts {
      await drop(prompt)
      emit(.messageWithdrawn(prompt.key))
    }
  }

  func conclude(_ prompt: Prompt, _ end: RunEnd, _ stage: MessageStage) async {
    if end == .aborted || end == .withdrawn, stage == .dropped { await drop(prompt) }
    run?.creditUnknownUserMessages()
    let taken = run?.takeTaken() ?? []
    let left = run?.removeSteering() ?? []
    run = nil
    isToForget = memory?.span == .oneMessage
    lastWork = Date().timeIntervalSince1970
    earlyEnding = nil
    if connection != nil { activity = .idle }
    cancelDialogs("the run has ended")
    withdrawQuestions("the run has ended")
    for prompt in taken { emit(.messageTaken(prompt.key)) }
    emit(.questionsOver)
    emit(.runEnded(prompt.key, end, stage))
    if !left.isEmpty {
      // pi may hold copies for its next prompt; they live in its memory only.
      await requeue(left)
      await stopAgent()
    }
  }
}
