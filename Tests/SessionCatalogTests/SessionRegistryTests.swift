import AgentRuntime
import AgentSessions
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayLogging
import RelayModel
import RelayStore
import RelayTransport
import SessionStates
import TestSupport
import Testing

@testable import SessionCatalog

@Suite(.timeLimit(.minutes(1))) struct SessionRegistryTests {
  /// Runs `body` with a registry that has restored three sessions, one of them an assistant's.
  private func withHost(
    retention: @escaping @Sendable (SessionRecord) -> TranscriptRetention? = { _ in nil },
    clock: ManualWallClock = .init(),
    _ body: (SessionRegistry, SQLiteStore, TemporaryFolder) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    let store = try SQLiteStore(path: home.database)
    for (id, role) in [("a", nil), ("b", nil), ("c", SessionRole.assistant)] {
      try await store.saveSession(
        SessionRecord(
          id: id, name: "session \(id)", directory: folder.path, model: nil, wantsToolImages: false, role: role,
          shownModel: id == "a" ? "Model A" : nil))
    }
    let dependencies = SessionDependencies(
      home: home, environment: ["HOME": folder.path], store: store,
      timeSource: TimeSource(clock: ContinuousClock(), wallTime: { clock.now }), logLimits: .init(),
      places: AgentSlots(maximum: 8, maximumStarting: 8),
      agents: AgentResolver(
        probe: AgentLocator(
          configured: "/nowhere/pi", demoAgent: nil, environment: [:], guardian: nil, clock: ContinuousClock())),
      prepare: { PreparedPrompt(text: $0.text, images: []) }, logger: .lines { _ in })
    let profile = SessionProfile(
      pi: Config().pi, settings: Config().sessions, dependencies: dependencies, retention: retention)
    let host = SessionRegistry(ordinary: profile, assistants: profile)
    try await host.restore { _, _ in }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await host.run() }
      try await body(host, store, folder)
      _ = await host.stop(drain: .zero)
      group.cancelAll()
    }
    await store.close()
  }

  final class ManualWallClock: Sendable {
    private let time = Locked(1_000.0)
    var now: Double { time.withLock { $0 } }
    func advance(by seconds: Double) { time.withLock { $0 += seconds } }
  }

  private func prompt(_ id: String) -> Prompt {
    Prompt(
      key: MessageKey(conversation: ConversationKey(instance: "fake/default", conversation: "c1"), id: id), text: id,
      typed: id)
  }

  @Test func `restored sessions are listed as they were, and sleep until they are addressed`() async throws {
    try await withHost { host, _, folder in
      #expect(await host.awake().isEmpty)
      let statuses = await host.statuses()
      #expect(statuses.map(\.name) == ["session a", "session b", "session c"])
      #expect(statuses.map(\.model) == ["Model A", nil, nil])
      #expect(statuses.allSatisfy { $0.activity == .asleep && $0.directory == folder.path })
      #expect(await host.listing("b")?.id == "b")
      #expect(await host.awake().isEmpty)

      let session = try #require(await host.session("b"))
      #expect(await host.session("b") === session)
      #expect(await host.awake().map(\.id) == ["b"])
      // A session that was woken tells the same of itself as its record did.
      #expect(await host.statuses() == statuses)
      #expect(await session.enqueue(prompt("1")) == .next)
    }
  }

  @Test func `a message for a session that sleeps when the daemon has stopped is left to the next daemon`() async throws
  {
    try await withHost { host, _, _ in
      _ = await host.stop(drain: .zero)
      #expect(await host.session("a")?.enqueue(prompt("1")) == .parked)
    }
  }

  @Test func `an assistant's session that has slept for too long is removed without being woken`() async throws {
    let clock = ManualWallClock()
    try await withHost(
      retention: { $0.role == nil ? nil : TranscriptRetention(folder: "/nowhere/memory", span: .idle(.seconds(60))) },
      clock: clock
    ) { host, store, _ in
      #expect(await host.assistants().map(\.id) == ["c"])
      clock.advance(by: 59)
      #expect(await host.closeIfUnused("c", for: .seconds(60)) == false)
      clock.advance(by: 1)
      // One without a memory of its own stays.
      #expect(await host.closeIfUnused("a", for: .seconds(60)) == false)
      #expect(await host.closeIfUnused("c", for: .seconds(60)) == true)
      #expect(await host.awake().isEmpty)
      #expect(await host.session("c") == nil)
      let left = try await store.sessions().map(\.id)
      #expect(left == ["a", "b"])
    }
  }
}
