import AgentSessions
import RelayConcurrency
import RelayModel
import RelayStore
import RelayWire
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
      await relay.router.approvals.endEarlierApprovals()
      let events = try await relay.store.approvalEvents(last: 9)
      #expect(events.map(\.kind) == [.requested, .cancelled])
      #expect(events.last?.detail == "pi-relayd was restarted")
    }
  }
}
