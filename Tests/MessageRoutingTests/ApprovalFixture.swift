import AgentRuntime
import AgentSessions
import Approvals
import Assistant
import ContentServices
import Glibc
import Logging
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayJSON
import RelayLogging
import RelayModel
import RelayStore
import RelayText
import RelayWire
import SessionCatalog
import SessionStates
import TestSupport
import Testing
import ToolApprovals

@testable import MessageRouting

/// A router with the demo agent and a messenger, for tool calls that wait.
struct ApprovalFixture {
  static let timeSource = TimeSource(clock: ContinuousClock())

  let router: Router
  let sessions: SessionRegistry
  let store: SQLiteStore
  let messenger: PlayedMessenger

  /// Approvals for everything that reaches a git remote.
  static var settings: Config.Approvals {
    var settings = Config.Approvals()
    settings.isEnabled = true
    var rule = ApprovalRule(id: "push")
    rule.categories = [.gitRemote]
    rule.description = "reaches others"
    settings.rules = [rule]
    return settings
  }

  private static func make(
    _ settings: Config.Approvals, _ folder: TemporaryFolder, _ messenger: PlayedMessenger
  ) throws -> ApprovalFixture {
    let home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    let store = try SQLiteStore(path: home.database)
    var config = Config()
    config.pi.answerTimeout = .seconds(60)
    let environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
    let probe = AgentLocator(
      configured: Built.executable("pi-relay-demo-agent"), demoAgent: nil, environment: environment, guardian: nil,
      clock: ContinuousClock())
    let dependencies = SessionDependencies(
      home: home, guardian: nil, environment: environment, store: store, timeSource: timeSource, logLimits: .init(),
      places: AgentSlots(maximum: 8, maximumStarting: 8), agents: AgentResolver(probe: probe),
      prepare: { PreparedPrompt(text: $0.text, images: []) }, logger: .lines { _ in })
    let assistant = AssistantSetup(config, dependencies: dependencies) { _, _ in AgentResolver(probe: probe) }
    let sessions = SessionRegistry(
      ordinary: SessionProfile(pi: config.pi, settings: config.sessions, dependencies: dependencies),
      assistants: assistant.profile)
    let router = Router(
      .init(
        sessions: sessions, assistant: assistant, store: store,
        services: Services(home: home, clock: timeSource.clock, logger: .lines { _ in }), home: home,
        timeSource: timeSource, machine: config.machine, hostName: "here", deliveries: config.delivery,
        approvals: settings, redaction: Redactor([]), terminalGone: { _ in }, logger: .lines { _ in }))
    return ApprovalFixture(router: router, sessions: sessions, store: store, messenger: messenger)
  }

  /// Runs a daemon's parts in a folder, which a later call may continue.
  static func run(
    _ settings: Config.Approvals = settings, in folder: TemporaryFolder, at instance: String = "fake/default",
    _ body: (ApprovalFixture) async throws -> Void
  ) async throws {
    let fixture = try make(settings, folder, PlayedMessenger(instance))
    try await fixture.router.restore()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await fixture.sessions.run() }
      group.addTask { await fixture.router.run() }
      group.addTask { try await fixture.messenger.run(fixture.router) }
      defer { group.cancelAll() }
      do { try await body(fixture) } catch {
        await fixture.end()
        throw error
      }
      await fixture.end()
    }
    await fixture.store.close()
  }

  /// Ends the sessions, and has everything about that said.
  func endSessions() async {
    _ = await sessions.stop(drain: .zero)
    await router.flush(within: .seconds(5))
  }

  private func end() async {
    await endSessions()
    messenger.leave()
    router.stop()
  }

  /// Has Ann begin a run, which does not end by itself unless the words say so.
  ///
  /// - Returns: the session.
  func begin(_ words: String = "/hang") async throws -> Session {
    let conversation = "c"
    try await messenger.write(words, in: conversation)
    while true {
      let begun = try #require(await messenger.begun.next())
      // A command that takes its time shows the same sign.
      guard begun == conversation, let session = await sessions.awake().last else { continue }
      if case .nobody = await session.turnOrigin { continue }
      return session
    }
  }

  func approve(_ command: String = "git push", in session: Session) async -> ApprovalVerdict {
    await router.approvals.approve(
      ToolCall(tool: "bash", input: ["command": .string(command)], directory: "/work"), in: session.id)
  }

  func question() async throws -> DialogShow { try #require(await messenger.questions.next()) }

  /// Waits for a notice with these words.
  func notice(_ words: String) async throws {
    while true {
      let notice = try #require(await messenger.notices.next())
      if notice.contains(words) { return }
    }
  }

  func audit() async throws -> [ApprovalEvent.Kind] { try await store.approvalEvents(last: 99).map(\.kind) }
}
