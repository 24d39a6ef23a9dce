import ContentServices
import ConversationSessions
import Conversations
import MessageDelivery
import PluginRuntime
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayLogging
import RelayModel
import RelayStore
import RelayText
import RelayTransport
import RelayWire
import SessionCatalog
import TestSupport
import Testing
import ToolApprovals

@testable import MessageRouting

/// Tool calls that wait while a messenger or the daemon ends.
@Suite(.timeLimit(.minutes(1))) struct ApprovalRestartTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `an approval outlives a restart of its messenger`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      let question = try await relay.question()
      relay.messenger.leave()
      let next = try PlayedMessenger()
      async let life: Void = next.run(relay.router)
      try await next.press(question.button("Approve once"))
      #expect(await verdict.allows)
      #expect(await next.closings.next()?.contains("Approve once (Ann)") == true)
      #expect(try await relay.audit() == [.requested, .approvedOnce])
      await relay.endSessions()
      next.leave()
      try await life
    }
  }

  @Test func `an approval ends with its daemon, and the next one refuses its button`() async throws {
    let asked = try await ask()
    try await ApprovalFixture.run(in: folder) { relay in
      try await relay.messenger.press(asked.button("Approve once"))
      try await relay.notice("That approval is no longer open")
      try await relay.messenger.write("relay approval approve \(asked.dialog)")
      try await relay.notice("That approval is no longer open")
      let events = try await relay.store.approvalEvents(last: 9)
      #expect(events.map(\.kind) == [.requested, .cancelled])
      #expect(events.last?.detail == "pi-relayd is stopping")
    }
  }

  /// Asks, and stops the daemon before anybody has answered.
  private func ask() async throws -> DialogShow {
    var asked: DialogShow?
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      asked = try await relay.question()
      _ = await relay.sessions.stop(drain: .zero)
      #expect(await verdict == ApprovalVerdict(allows: false, reason: "Denied: pi-relayd is stopping."))
    }
    return try #require(asked)
  }

  @Test func `an approval that a crash left open is recorded as cancelled`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let requester = Requester(
        conversation: ConversationKey(instance: "fake/default", conversation: "c"), person: "ann")
      try await relay.store.record(
        ApprovalEvent(
          .requested, at: 1, approval: "a_old", session: "s", requester: requester, tool: "bash",
          category: "git-remote", rule: "push", summary: "git push"), keeping: 9)
    }
    try await ApprovalFixture.run(in: folder) { relay in
      try await relay.messenger.press("a_old:1")
      try await relay.notice("That approval is no longer open")
    }
    let events = try SQLiteStore.approvals(in: folder.path + "/home/state/relay.db", last: 9).events
    #expect(events.map(\.kind) == [.requested, .cancelled])
    #expect(events.last?.detail == "pi-relayd was restarted")
  }

  @Test func `an approval is cancelled before an upgrade`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      _ = try await relay.question()
      _ = await relay.sessions.hold()
      #expect(await verdict == ApprovalVerdict(allows: false, reason: "Denied: pi-relayd was upgraded."))
      await relay.sessions.resume()
    }
  }

  @Test(arguments: [("relay approval approve a_1", true), ("approve a_1", false)])
  func `a decision in words that a crash caught is not given to the agent`(words: String, isAnswer: Bool) async throws {
    let home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    let store = try SQLiteStore(path: home.database)
    let timeSource = ApprovalFixture.timeSource
    let directory = ConversationDirectory(
      store: store, services: Services(home: home, clock: timeSource.clock, logger: .lines { _ in }),
      timeSource: timeSource, deliveries: Config().delivery, redaction: Redactor([]),
      checkpoints: StreamCheckpoints(folder: home.streams, logger: .lines { _ in }), taskScope: TaskScope(),
      logger: .lines { _ in })
    let questions = QuestionRegistry()
    let gate = InboundGate(
      store: store, directory: directory,
      subscriptions: SessionSubscriptions(questions: questions, timeSource: timeSource) { _, _ in },
      questions: questions, people: PairedPeople(store: store), timeSource: timeSource, logger: .lines { _ in })
    let messenger = try PlayedMessenger()
    try await messenger.run { request in
      do { try gate.receive(request.params(MessageReceived.self), request, messenger.link) } catch {
        request.fail(WireError(.invalidParams, "\(error)"))
      }
    } meanwhile: {
      try await messenger.write(words)
      #expect(
        try await store.unfinishedMessages(of: messenger.link.name).map(\.stored.isAnswer) == [isAnswer])
    }
    await store.close()
  }
}
