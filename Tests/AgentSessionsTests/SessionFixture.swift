import AgentRuntime
import Logging
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayLogging
import RelayModel
import RelayStore
import RelayTransport
import SessionStates
import TestSupport

@testable import AgentSessions

/// A home with a store, for the sessions of a test.
struct SessionFixture {
  let folder: TemporaryFolder
  let store: SQLiteStore
  private let home: HomeDirectory

  init(in folder: TemporaryFolder) throws {
    self.folder = folder
    home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    store = try SQLiteStore(path: home.database)
  }

  func dependencies(
    agent: String = "/nowhere/pi", timeSource: TimeSource = .system,
    places: AgentSlots = AgentSlots(maximum: 8, maximumStarting: 8), logger: Logger = .lines { _ in }
  ) -> SessionDependencies {
    let environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
    let probe = AgentLocator(
      configured: agent, demoAgent: nil, environment: environment, guardian: nil, clock: ContinuousClock())
    return SessionDependencies(
      home: home, guardian: nil, environment: environment, store: store, timeSource: timeSource,
      logLimits: .init(), places: places, agents: AgentResolver(probe: probe),
      prepare: { PreparedPrompt(text: $0.text, images: []) }, logger: logger)
  }

  /// Runs `body` with a session and the events that it emits.
  ///
  /// - Parameters:
  ///   - works: the session takes its messages' turns, and is closed at the end.
  ///   - during: is called in the session, at each event.
  static func run(
    agent: String = "/nowhere/pi", settings: Config.Sessions = Config().sessions, works: Bool = true,
    id: String = "s", places: AgentSlots = AgentSlots(maximum: 8, maximumStarting: 8), in folder: TemporaryFolder,
    logger: Logger = .lines { _ in }, during: @escaping @Sendable (Session, SessionEvent) -> Void = { _, _ in },
    _ body: (Session, Mailbox<SessionEvent>, SQLiteStore) async throws -> Void
  ) async throws {
    let fixture = try SessionFixture(in: folder)
    let events = Mailbox<SessionEvent>()
    let made = Locked<Session?>(nil)
    let taskScope = TaskScope(executor: globalConcurrentExecutor, starter: EventLoop.shared)
    let session = Session(
      SessionRecord(id: id, name: "s", directory: folder.path, model: nil, wantsToolImages: false),
      pi: Config().pi, settings: settings,
      dependencies: fixture.dependencies(agent: agent, places: places, logger: logger), taskScope: taskScope,
      emit: { event in
        if let session = made.withLock({ $0 }) { during(session, event) }
        events.post(event)
      })
    made.withLock { $0 = session }
    defer { made.withLock { $0 = nil } }
    if works { taskScope.add { await session.work() } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await taskScope.run() }
      try await body(session, events, fixture.store)
      if works { await session.close() }
      group.cancelAll()
    }
    await fixture.store.close()
  }
}
