import AgentRuntime
import PiRPC
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayLogging
import RelayModel
import RelayStore
import RelayTransport
import RelayWire
import SessionStates
import TestSupport
import Testing

@testable import AgentSessions

/// A session with the demo agent, and nobody but the test to hear of it.
@Suite(.timeLimit(.minutes(1))) struct SessionTests {
  private func prompt(_ text: String, from instance: String) -> Prompt {
    Prompt(
      key: MessageKey(conversation: ConversationKey(instance: instance, conversation: "c1"), id: text), text: text,
      typed: text)
  }

  /// Runs `body` with a session and what happens in it.
  private func withSession(
    agent: String = Built.executable("pi-relay-demo-agent"), _ settings: Config.Sessions = Config().sessions,
    _ body: (Session, Mailbox<SessionEvent>) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    let store = try SQLiteStore(path: home.database)
    let environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
    let probe = AgentLocator(
      configured: agent, demoAgent: nil, environment: environment, guardian: nil, clock: ContinuousClock())
    let dependencies = SessionDependencies(
      home: home, guardian: nil, environment: environment, store: store, timeSource: .system,
      logLimits: .init(), places: AgentSlots(maximum: 8, maximumStarting: 8), agents: AgentResolver(probe: probe),
      prepare: { PreparedPrompt(text: $0.text, images: []) }, logger: .lines { _ in })
    let events = Mailbox<SessionEvent>()
    let taskScope = TaskScope(executor: globalConcurrentExecutor, starter: EventLoop.shared)
    let session = Session(
      SessionRecord(id: "s", name: "s", directory: folder.path, model: nil, wantsToolImages: false),
      pi: Config().pi, settings: settings, dependencies: dependencies, taskScope: taskScope, emit: { events.post($0) })
    taskScope.add { await session.work() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await taskScope.run() }
      try await body(session, events)
      await session.close()
      group.cancelAll()
    }
    await store.close()
  }

  /// The next question.
  private func question(_ events: Mailbox<SessionEvent>) async throws -> PiDialog {
    while let event = await events.next() { if case .dialogOpened(let question, _) = event { return question.dialog } }
    throw CancellationError()
  }

  /// How the message ended.
  private func end(of prompt: Prompt, _ events: Mailbox<SessionEvent>) async -> RunEnd? {
    while let event = await events.next() {
      if case .runEnded(let message, let end) = event, message.key == prompt.key { return end }
    }
    return nil
  }

  @Test func `a question about a silent agent stays open when the terminal that its run came from is gone`()
    async throws
  {
    var settings = Config().sessions
    settings.silenceTimeout = .milliseconds(100)
    try await withSession(settings) { session, events in
      let hanging = prompt("/hang", from: "terminal/1")
      _ = await session.enqueue(hanging)
      let dialog = try await question(events)
      await session.drop(instance: "terminal/1")
      // Any other conversation that turns to the session may answer the question.
      #expect(await session.answer(dialog.id, .value("Stop the run")))
      #expect(await end(of: hanging, events) == .aborted)
    }
  }

  @Test func `a message that waits for the word of a terminal that is gone gives way to the next`() async throws {
    try await withSession(agent: "/nowhere/pi") { session, events in
      let first = prompt("first", from: "terminal/1")
      let second = prompt("second", from: "fake/default")
      _ = await session.enqueue(first)
      _ = try await question(events)
      #expect(await session.enqueue(second) == .undecided(2))
      await session.drop(instance: "terminal/1")
      #expect(await end(of: first, events) == .aborted)
      let dialog = try await question(events)
      #expect(dialog.message?.contains("second") == true || dialog.title.contains("second"))
      #expect(await session.answer(dialog.id, .value("Drop")))
      #expect(await end(of: second, events) == .aborted)
    }
  }
}
