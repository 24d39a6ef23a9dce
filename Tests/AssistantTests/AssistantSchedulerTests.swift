import AgentRuntime
import AgentSessions
import FoundationEssentials
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayLogging
import RelayModel
import RelayStore
import RelayTransport
import SessionCatalog
import SessionStates
import TestSupport
import Testing

@testable import Assistant

/// Message routing as far as the scheduler sees it.
private final class FakeHost: AssistantHost {
  let draining = Locked(false)
  let conversations: [ConversationKey]?
  let asked = Mailbox<String>()
  let closed = Mailbox<[ConversationKey]>()

  init(conversations: [ConversationKey]?) { self.conversations = conversations }

  var isDraining: Bool { draining.withLock { $0 } }

  func recoveredConversations(of session: String) async throws -> [ConversationKey]? {
    asked.post(session)
    return conversations
  }

  func sessionClosed(_ session: String, in conversations: [ConversationKey]) async { closed.post(conversations) }

  /// Called with a finding before `deliver` returns.
  let onFinding = Locked<(@Sendable (String) async -> Void)?>(nil)
  func deliver(finding: String, number: Int) async { await onFinding.withLock { $0 }?(finding) }
}

/// Sessions of assistants that are not used any more, with a clock that the test moves.
@Suite(.timeLimit(.minutes(1))) struct AssistantSchedulerTests {
  private static let limit: Duration = .seconds(600)
  private let key = ConversationKey(instance: "m", conversation: "c")

  private struct Fixture {
    let clock: ManualClock
    let sessions: SessionRegistry
    let scheduler: AssistantScheduler
    let session: Session
  }

  /// Runs `body` beside an assistant's session that was begun at time zero.
  private func withSession(
    _ host: FakeHost, _ change: (inout Config.Assistant) -> Void = { _ in },
    _ body: (Fixture) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    let store = try SQLiteStore(path: home.database)
    let clock = ManualClock()
    let start = TimeSource.systemWallTime()
    let timeSource = TimeSource(clock: clock) { start + clock.elapsed / .seconds(1) }
    let environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
    func agents(_ configured: String?, _ more: [String: String]) -> AgentResolver {
      AgentResolver(
        probe: AgentLocator(
          configured: configured, demoAgent: nil, environment: environment, guardian: nil, clock: ContinuousClock()))
    }
    let dependencies = SessionDependencies(
      home: home, guardian: nil, environment: environment, store: store, timeSource: timeSource,
      logLimits: .init(), places: AgentSlots(maximum: 8, maximumStarting: 8), agents: agents(nil, [:]),
      prepare: { PreparedPrompt(text: $0.text, images: []) }, logger: .lines { _ in })
    var config = Config()
    config.assistant.sessionTimeout = Self.limit
    config.assistant.sweepInterval = .seconds(60)
    config.assistant.healthInterval = nil
    change(&config.assistant)
    let setup = AssistantSetup(config, dependencies: dependencies, agents: agents)
    let sessions = SessionRegistry(
      ordinary: SessionProfile(pi: config.pi, settings: config.sessions, dependencies: dependencies),
      assistants: setup.profile)
    let admission = AdmissionController(config.assistant, timeSource, logger: .lines { _ in })
    let scheduler = AssistantScheduler(
      setup, sessions: sessions, admission: admission, timeSource: timeSource, logger: .lines { _ in })
    let taskScope = TaskScope(executor: globalConcurrentExecutor, starter: EventLoop.shared)
    let session = await sessions.create(
      name: "a", directory: folder.path, role: .assistant, home: key, emit: { _, _ in })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await sessions.run() }
      group.addTask { await taskScope.run() }
      await scheduler.begin(for: host, in: taskScope)
      // A second messenger whose conversations are the assistant's starts nothing more.
      await scheduler.begin(for: host, in: taskScope)
      try await body(Fixture(clock: clock, sessions: sessions, scheduler: scheduler, session: session))
      taskScope.close()
      _ = await sessions.stop(drain: .zero)
      group.cancelAll()
    }
    await store.close()
  }

  /// Lets the one sweep that is due run.
  private func sweep(_ clock: ManualClock, after time: Duration = .seconds(60)) async {
    await clock.sleepers(1)
    clock.advance(by: time)
  }

  @Test func `a session that was unused for the limit is closed, and its conversations are told`() async throws {
    let host = FakeHost(conversations: [key])
    try await withSession(host) { fixture in
      await sweep(fixture.clock, after: Self.limit + .seconds(60))
      #expect(await host.asked.next() == fixture.session.id)
      #expect(await host.closed.next() == [key])
      #expect(await fixture.sessions.assistants().isEmpty)
    }
  }

  @Test func `a session whose conversations are not recovered is not closed`() async throws {
    let host = FakeHost(conversations: nil)
    try await withSession(host) { fixture in
      for _ in 1...2 {
        await sweep(fixture.clock, after: Self.limit + .seconds(60))
        #expect(await host.asked.next() == fixture.session.id)
      }
      #expect(await fixture.sessions.assistants().map(\.id) == [fixture.session.id])
    }
  }

  @Test func `no session is closed while the daemon drains`() async throws {
    let host = FakeHost(conversations: [key])
    try await withSession(host) { fixture in
      host.draining.withLock { $0 = true }
      await sweep(fixture.clock, after: Self.limit + .seconds(60))
      await fixture.clock.sleepers(1)
      host.draining.withLock { $0 = false }
      #expect(await fixture.sessions.assistants().count == 1)
      await sweep(fixture.clock)
      #expect(await host.closed.next() == [key])
    }
  }

  @Test func `a finding is delivered before the session of its check is closed`() async throws {
    let host = FakeHost(conversations: [key])
    let passing = Mailbox<Int>()
    try await withSession(
      host,
      {
        $0.executable = Built.executable("pi-relay-demo-agent")
        $0.heartbeatInterval = .seconds(30)
        $0.sweepInterval = nil
      }
    ) { fixture in
      host.onFinding.withLock { [sessions = fixture.sessions] in
        $0 = { _ in passing.post(await sessions.passing.count) }
      }
      await sweep(fixture.clock, after: .seconds(30))
      // The demo agent repeats the question, which is not all well.
      #expect(await passing.next() == 1)
    }
  }
}
