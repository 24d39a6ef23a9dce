import AgentRuntime
import AgentSessions
import Assistant
import ContentServices
import Glibc
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayLogging
import RelayModel
import RelayText
import RelayWire
import SessionCatalog
import SessionStates
import TestSupport
import Testing

@testable import MessageRouting
@testable import RelayStore

/// Conversations that an earlier daemon knew and that nothing concerns yet.
@Suite(.timeLimit(.minutes(1))) struct QuietConversationTests {
  private static let instance = "fake/default"
  private static let timeSource = TimeSource(clock: ContinuousClock())

  private func key(_ conversation: String) -> ConversationKey {
    ConversationKey(instance: Self.instance, conversation: conversation)
  }

  private func withStore(_ body: (SQLiteStore, HomeDirectory) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    let store = try SQLiteStore(path: home.database)
    try await body(store, home)
    await store.close()
  }

  @Test func `a messenger that connects creates no output for sleeping sessions`() async throws {
    try await withStore { store, home in
      for number in 0..<20 {
        try await store.saveSession(
          SessionRecord(
            id: "s\(number)", name: "session \(number)", directory: home.path, model: nil, wantsToolImages: false))
        try await store.bind(
          Binding(key: key("c\(number)"), conversation: Conversation(id: "c\(number)"), session: "s\(number)"),
          because: nil)
      }
      let (router, sessions) = router(store, home)
      // It is not run, and so never answers.
      let messenger = try PlayedMessenger(Self.instance)
      defer { messenger.leave() }
      try await router.restore()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await router.run() }
        await router.connected(messenger.link)
        let (handover, busy) = await router.hold()
        // An upgrade hands over each conversation that has an output.
        #expect(handover?.conversations.isEmpty == true, "\(busy ?? "")")
        // They have their sessions all the same, which sleep.
        #expect(await router.conversations().0.count == 20)
        #expect(await sessions.awake().isEmpty)
        router.stop()
        group.cancelAll()
      }
    }
  }

  @Test func `what an earlier daemon left is brought back before anything can be written`() async throws {
    try await withStore { store, home in
      try await store.saveSession(
        SessionRecord(id: "s", name: "work", directory: home.path, model: nil, wantsToolImages: false))
      try await store.bind(
        Binding(key: key("c"), conversation: Conversation(id: "c"), session: "s"), because: nil)
      _ = try await store.accept(
        StoredMessage(
          key: MessageKey(conversation: key("c"), id: "1"),
          message: MessageReceived(
            id: "1", conversation: Conversation(id: "c"), sender: Sender(id: "u1", name: "Ann"), text: "hello")),
        state: nil)
      try await store.recordOutbound([
        OutboundRecord(
          key: "k", conversation: key("c"), request: .message(MessageSend(key: "k", conversation: "c", text: "hi")))
      ])
      // A write that does not end, as the check of a large database.
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      let (hold, release) = (ends[0], ends[1])
      store.commits.write(
        { _ in
          var byte: UInt8 = 0
          _ = read(hold, &byte, 1)
        }, then: { _ in close(hold) })
      defer { close(release) }
      let (router, sessions) = router(store, home)
      try await router.restore()
      #expect(await sessions.statuses().map(\.name) == ["work"])
    }
  }

  private func router(_ store: SQLiteStore, _ home: HomeDirectory) -> (Router, SessionRegistry) {
    let config = Config()
    let probe = AgentLocator(
      configured: "/nowhere/pi", demoAgent: nil, environment: [:], guardian: nil, clock: Self.timeSource.clock)
    let dependencies = SessionDependencies(
      home: home, guardian: nil, environment: [:], store: store, timeSource: Self.timeSource, logLimits: .init(),
      places: AgentSlots(maximum: 8, maximumStarting: 8), agents: AgentResolver(probe: probe),
      prepare: { PreparedPrompt(text: $0.text, images: []) }, logger: .lines { _ in })
    let assistant = AssistantSetup(config, dependencies: dependencies) { _, _ in AgentResolver(probe: probe) }
    let sessions = SessionRegistry(
      ordinary: SessionProfile(pi: config.pi, settings: config.sessions, dependencies: dependencies),
      assistants: assistant.profile)
    let router = Router(
      .init(
        sessions: sessions, assistant: assistant, store: store,
        services: Services(home: home, clock: Self.timeSource.clock, logger: .lines { _ in }), home: home,
        timeSource: Self.timeSource, machine: config.machine, hostName: "here", deliveries: config.delivery,
        redaction: Redactor([]), terminalGone: { _ in }, logger: .lines { _ in }))
    return (router, sessions)
  }
}
