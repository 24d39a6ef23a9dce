package import AgentRuntime
internal import Glibc
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayHome
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayTransport

/// A session whose agent the next program of this process goes on with.
package struct SessionHandover: Codable, Sendable {
  var id: String
  package var connection: PiConnection.Handover
  var program: AgentProgram
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
    case ready(SessionHandover)
    /// It waits for a person's word on a message: the next program asks again, with another life of the agent, if it
    /// had one.
    case asking(ChildProcess.Handover?)
    case busy
  }

  /// Hears nothing more of its agent until `resume`.
  func hold() async -> Hold {
    guard !closed, leaving?.child.hasEnded != false else { return .busy }
    if awaitsDecision { return waitsForCompaction ? .busy : .asking(connection?.child.handover) }
    // The next program asks again if the agent stays silent.
    if let silenceQuestion { withdrawQuestion(silenceQuestion, "pi-relayd was upgraded") }
    guard let connection else {
      return run == nil && queue.isEmpty && activity == .stopped ? .asleep : .busy
    }
    guard let agent, let handover = await connection.hold(), self.connection === connection, isBetweenEvents else {
      return .busy
    }
    let now = dependencies.timekeeper.now()
    return .ready(
      SessionHandover(
        id: id, connection: handover, program: agent, state: state, lastLeaf: lastLeaf, settles: settles,
        restarts: restarts, dialogs: openDialogs.values.map(\.dialog),
        waited: openDialogs.mapValues { now - $0.began }, run: run?.handedOver(now: now)))
  }

  /// Idle, or in a run of which nothing but events is to come.
  private var isBetweenEvents: Bool {
    guard let run else { return activity == .idle && queue.isEmpty }
    // One whose turn has ended may be over within a moment, which only this program notices.
    return run.accepted && run.takesSteering && runWaiter != nil && !waitsForCompaction
  }

  private var waitsForCompaction: Bool {
    queue.contains { if case .compact = $0 { true } else { false } }
  }

  func resume() { connection?.resume() }

  /// Goes on with the agent of the program before. Before `work` begins.
  func adopt(_ handover: SessionHandover) async throws {
    let log = LogFile(path: dependencies.folders.log("session-\(id)"), limits: dependencies.logLimits)
    let connection = try PiConnection(
      handover.connection, guardian: dependencies.guardian, log: log, wantsToolImages: wantsToolImages,
      clock: dependencies.timekeeper.clock, text: { [emit] in emit(.text($0)) })
    self.connection = connection
    isRestored = false
    holdings = nil
    agent = handover.program
    if let state = handover.state { learn(state, through: connection) }
    lastLeaf = handover.lastLeaf
    settles = handover.settles
    restarts = handover.restarts
    run = handover.run
    run?.adopt(now: dependencies.timekeeper.now())
    activity = run == nil ? .idle : .working
    if run != nil { runNumber += 1 }
    for dialog in handover.dialogs { keepOpen(dialog, waited: handover.waited?[dialog.id] ?? .zero) }
    let slot = await dependencies.places.adopt()
    self.slot = slot
    taskScope.add(on: EventLoop.shared) { [self] in
      await listen(to: connection, marker: "PI_RELAY_SESSION=\(id)", slot: slot)
    }
    try connection.start()
  }
}
