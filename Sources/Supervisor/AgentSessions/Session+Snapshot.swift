package import AgentRuntime
internal import Glibc
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayModel
internal import RelayStore
internal import RelayTransport
internal import SessionStates

/// A session whose agent the next program of this process goes on with.
package struct SessionSnapshot: Codable, Sendable {
  var id: String
  package var connection: PiConnection.Snapshot
  var program: AgentExecutable
  var state: PiState?
  var lastLeaf: String?
  var settles: Bool?
  var restarts: Int
  var dialogs: [PiDialog]
  /// How long each of `dialogs` has waited, by its id; earlier versions do not say.
  var waited: [String: Duration]?
  /// The run in progress.
  var run: SessionRun?

  /// Messages that it is at work on.
  var messages: [MessageKey] { [run?.prompt.key].compactMap(\.self) + (run?.steering.map(\.prompt.key) ?? []) }
}

// How a session passes from one program of this process to the next. What waits in its queue is found in the store.
extension Session {
  enum Hold: Sendable {
    /// It has no agent.
    case asleep
    case ready(SessionSnapshot)
    /// It waits for a person's word on a message: the next program asks again, with another life of the agent, if it
    /// had one.
    case asking(ChildProcess.Snapshot?)
    case busy
  }

  /// Hears nothing more of its agent until `resume`.
  func hold() async -> Hold {
    guard phase.isOpen else { return .busy }
    if case .leaving(let connection) = agent, !connection.child.hasEnded { return .busy }
    if questions.awaitsDecision { return queue.hasCompaction ? .busy : .asking(connection?.child.handover) }
    // The next program asks again if the agent stays silent.
    if let silence = questions.silence { withdrawQuestion(silence, "pi-relayd was upgraded") }
    guard let connection else {
      return current.isNothing && queue.isEmpty && agent.activity == .stopped ? .asleep : .busy
    }
    guard let program = facts.program, let handover = await connection.hold(), self.connection === connection,
      isBetweenEvents
    else {
      return .busy
    }
    let now = dependencies.timeSource.now()
    let dialogs = questions.openDialogs
    return .ready(
      SessionSnapshot(
        id: id, connection: handover, program: program, state: facts.state, lastLeaf: transcript.lastEntry,
        settles: facts.settles, restarts: facts.restarts, dialogs: dialogs.map(\.dialog),
        waited: Dictionary(uniqueKeysWithValues: dialogs.map { ($0.dialog.id, now - $0.began) }),
        run: current.run?.handedOver(now: now)))
  }

  /// Idle, or in a run of which nothing but events is to come.
  private var isBetweenEvents: Bool {
    guard let run = current.run else { return isIdle }
    // One whose turn has ended may be over within a moment, which only this program notices.
    return run.isAccepted && run.takesSteering && current.isEndAwaited && !queue.hasCompaction
  }

  func resume() { connection?.resume() }

  /// Goes on with the agent of the program before. Before `work` begins.
  func adopt(_ handover: SessionSnapshot) async throws {
    let (connection, slot) = try await adoptAgent(handover.connection, isWorking: handover.run != nil)
    facts.adopt(handover.program, settles: handover.settles, restarts: handover.restarts)
    transcript.adopt(lastEntry: handover.lastLeaf)
    if let state = handover.state { learn(state, through: connection) }
    if let run = handover.run { current.adopt(run, now: dependencies.timeSource.now()) }
    for dialog in handover.dialogs { keepOpen(dialog, waited: handover.waited?[dialog.id] ?? .zero) }
    taskScope.add(on: EventLoop.shared) { [self] in await listen(to: connection, slot: slot) }
    try connection.start()
  }
}
