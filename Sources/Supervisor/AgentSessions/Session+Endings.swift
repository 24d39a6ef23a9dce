internal import AgentRuntime
internal import DequeModule
internal import FoundationEssentials
internal import Glibc
internal import PiRPC
internal import RelayConcurrency
package import RelayModel
internal import RelayStore
internal import RelayWire

// How a run ends: by itself, with the agent, or with the daemon; and what becomes of its message.
extension Session {
  /// The end of a run that was cut short.
  package func interruption(of message: MessageKey, _ why: String) async -> RunEnd {
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
    do { program = try await dependencies.agents.program() } catch { return false }
    let launch = launch(of: program)
    return await withTaskExecutorPreference(globalConcurrentExecutor) { launch.hasSavedNothing }
  }

  /// Whether the transcript has a message that an earlier process of the agent may have taken.
  func lookUpTranscript(for prompt: Prompt, _ connection: PiConnection) async -> TranscriptLookup {
    var found = holdings?.removeValue(forKey: prompt.key)
    if found == nil { found = await lookUp(after: prompt.life.evidence.position, connection) }
    guard found == .absent, await mayBeCommandOfExtension(prompt.text) else { return found ?? .inconclusive }
    return .inconclusive
  }

  /// Such a command is carried out without an entry: that there is none proves nothing.
  func mayBeCommandOfExtension(_ text: String) async -> Bool {
    guard text.hasPrefix("/") else { return false }
    guard let commands = await toldCommands() else { return true }
    let name = text.dropFirst().prefix { !$0.isWhitespace }
    return commands.contains { $0.name == name && $0.source == "extension" }
  }

  /// Steering messages that the run ended without wait for a turn of their own, but for those that have been taken back.
  func requeue(_ steering: [SessionRun.Leftover]) async {
    var waiting: [(prompt: Prompt, change: StageChange?)] = []
    var notTaken: [Prompt] = []
    for var left in steering {
      let reaction = left.prompt.life.take(.runEndedWithout(mayHaveTaken: left.mayBeTaken))
      if left.prompt.life.conclusion == .notTaken {
        notTaken.append(left.prompt)
      } else {
        waiting.append((left.prompt, reaction?.persist))
      }
    }
    // Before anything is awaited: an edit, a withdrawal or a close must find them in the queue.
    for one in waiting.reversed() { queue.prepend(.prompt(one.prompt)) }
    for prompt in notTaken { await endNotTaken(prompt) }
    for one in waiting { if let change = one.change { await advance(one.prompt.key, change) } }
  }

  /// Ends a message that was taken back while the agent had it, as far as anybody knew.
  func endNotTaken(_ prompt: Prompt) async {
    await store(MessageEnd(prompt.key, .notTaken))
    emit(.messageNotTaken(prompt.key))
  }

  /// Ends steering messages with the run that they were written to.
  func dropAll(_ steering: [SessionRun.Leftover]) async {
    for var left in steering {
      guard case .end(let conclusion)? = left.prompt.life.take(.aborted)?.next else { continue }
      await store(MessageEnd(left.prompt.key, conclusion))
      emit(.messageWithdrawn(left.prompt.key))
    }
  }

  /// Ends the message and its run. A person's word is stored before it is shown, so that no daemon runs the message again.
  func conclude(_ prompt: Prompt, _ end: RunEnd, _ conclusion: Conclusion) async {
    if conclusion.outcome == .stopped || end == .aborted && conclusion.stage == .dropped {
      await store(MessageEnd(prompt.key, conclusion, outcome: end.outcome))
    }
    run?.creditUnknownUserMessages()
    let taken = run?.takeTaken() ?? []
    let left = run?.removeSteering() ?? []
    run = nil
    isToForget = memory?.span == .oneMessage
    lastWork = dependencies.timekeeper.wallTime()
    earlyEnding = nil
    if connection != nil { activity = .idle }
    cancelDialogs("the run has ended")
    withdrawQuestions("the run has ended")
    for prompt in taken { emit(.messageTaken(prompt.key)) }
    emit(.questionsOver)
    emit(.runEnded(prompt.key, end, conclusion))
    if !left.isEmpty {
      // pi may hold copies for its next prompt; they live in its memory only.
      if closed, !isParked { await dropAll(left) } else { await requeue(left) }
      await stopAgent()
    }
  }
}
