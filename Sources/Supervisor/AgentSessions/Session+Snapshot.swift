internal import AgentRuntime
internal import PiRPC
package import ProcessSupervision
internal import RelayConcurrency
internal import RelayModel
internal import SessionStates

// The passage of a session from one program of this process to the next, which finds waiting messages in the store.
extension Session {
  package enum Hold: Sendable {
    /// It has no agent.
    case asleep
    case ready(SessionSnapshot)
    /// It waits for a person's word on a message: the next program asks again, with another process of the agent, if it
    /// had one.
    case asking(ChildProcess.Snapshot?)
    case busy
  }

  /// Stops listening to its agent until `resume`.
  package func hold() async -> Hold {
    guard phase.isOpen else { return .busy }
    // A person's own pi connects again by itself, to the next program.
    if isAttached { return current.isNothing && queue.isEmpty ? .asleep : .busy }
    if agent.isLeaving { return .busy }
    if questions.awaitsDecision { return queue.hasCompaction ? .busy : .asking(connection?.process.handover) }
    // The agent asks the next program again, or leaves it.
    questions.withdrawApprovals("pi-relayd was upgraded")
    // The next program asks again if the agent stays silent.
    if let silence = questions.silence { questions.withdrawOwn(silence, "pi-relayd was upgraded") }
    guard let connection else {
      return current.isNothing && queue.isEmpty && agent.activity == .asleep ? .asleep : .busy
    }
    guard let program = agent.facts.program, let handover = await connection.hold(), self.connection === connection,
      isBetweenEvents
    else {
      return .busy
    }
    let (dialogs, waited) = questions.handedOver()
    return .ready(
      SessionSnapshot(
        id: id, connection: handover, program: program, state: agent.facts.state, lastLeaf: transcript.lastEntry,
        settles: agent.facts.settles, restarts: agent.facts.restarts, dialogs: dialogs,
        waited: waited, run: current.run?.handedOver(now: dependencies.timeSource.now())))
  }

  /// Idle, or in a run of which nothing but events is to come.
  private var isBetweenEvents: Bool {
    guard let run = current.run else { return isIdle }
    // A run whose turn has ended may be over within a moment, which only this program notices.
    return run.isAccepted && run.takesSteering && current.isEndAwaited && !queue.hasCompaction
  }

  package func resume() { connection?.resume() }

  /// Continues with the agent of this program's predecessor. Called before `work` begins.
  package func adopt(_ handover: SessionSnapshot) async throws {
    let (connection, slot) = try await agent.adopt(handover, for: self)
    transcript.adopt(lastEntry: handover.lastLeaf)
    if let state = handover.state { learn(state, through: connection) }
    if let run = handover.run { current.adopt(run, now: dependencies.timeSource.now()) }
    for dialog in handover.dialogs {
      questions.keepOpen(dialog, waited: handover.waited?[dialog.id] ?? .zero, for: self)
    }
    _ = beginListening(to: connection, slot: slot)
    try connection.start()
  }
}
