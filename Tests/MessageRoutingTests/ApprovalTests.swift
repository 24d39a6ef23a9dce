import AgentSessions
import Approvals
import Glibc
import RelayConcurrency
import RelayConfig
import RelayJSON
import RelayModel
import RelayStore
import RelayWire
import SessionCatalog
import TestSupport
import Testing
import ToolApprovals

@testable import MessageRouting

/// Tool calls that wait for the person whose message the agent works on.
@Suite(.timeLimit(.minutes(1))) struct ApprovalTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let notOpen = "That approval is no longer open"

  @Test func `a call is asked about, approved once, and asked about again`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      for _ in 0..<2 {
        async let verdict = relay.approve("DEPLOY_TOKEN=hunter22 git push", in: session)
        let question = try await relay.question()
        #expect(question.labels == ["Approve once", "Approve for this session", "Deny"])
        let id = question.dialog
        let shown = """
          ❓ Approval needed in \(await session.name): git-remote
          [redacted] git push
          The tool bash waits, because of the rule push: reaches others.
          Without an answer within 2 min the call is denied.
          To answer in words:
          relay approval approve \(id)
          relay approval approve-session \(id)
          relay approval deny \(id)
          """
        #expect(question.text == shown)
        #expect(id.hasPrefix("a_") && question.expires != nil)
        try await relay.messenger.press(question.button("Approve once"))
        #expect(await verdict == ApprovalVerdict(allows: true, person: "Ann"))
        #expect(
          await relay.messenger.closings.next()
            == "✔ Approval needed in \(await session.name): git-remote: [redacted] git push — Approve once (Ann)")
      }
      let events = try await relay.store.approvalEvents(last: 9)
      #expect(events.map(\.kind) == [.requested, .approvedOnce, .requested, .approvedOnce])
      #expect(events.allSatisfy { $0.summary == "[redacted] git push" && $0.requester?.person == "ann" })
    }
  }

  @Test func `a call that is denied does not pass`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      let question = try await relay.question()
      try await relay.messenger.press(question.button("Deny"))
      #expect(await verdict == ApprovalVerdict(allows: false, reason: "Ann denied this call.", person: "Ann"))
      #expect(try await relay.audit() == [.requested, .denied])
    }
  }

  @Test func `other calls, and calls of a terminal, do not wait`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      #expect(await relay.approve("git status", in: session).allows)
      var disabled = ApprovalFixture.settings
      disabled.isEnabled = false
      await relay.router.approvals.apply(disabled)
      #expect(await relay.approve(in: session).allows)
      #expect(try await relay.audit().isEmpty)
    }
    try await ApprovalFixture.run(in: try TemporaryFolder(), at: "attached/terminal-1") { relay in
      let session = try await relay.begin()
      #expect(await relay.approve(in: session) == ApprovalVerdict(allows: true))
      #expect(try await relay.audit().isEmpty)
    }
  }

  @Test(arguments: ["button", "words"]) func `only the requester decides, in the same conversation`(
    way: String
  ) async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      // Bob talks to the same session from another conversation, which is shown nothing of the approval.
      try await relay.messenger.write("/use \(await session.name)", by: "bob", in: "d")
      try await relay.notice("You now talk to")
      async let verdict = relay.approve(in: session)
      let question = try await relay.question()
      #expect(question.conversation == "c")
      func decide(by person: String, in conversation: String) async throws {
        if way == "button" {
          try await relay.messenger.press(question.button("Approve once"), by: person, in: conversation)
        } else {
          try await relay.messenger.write(
            "relay approval approve \(question.dialog)", by: person, in: conversation)
        }
      }
      for (person, conversation) in [("bob", "c"), ("ann", "d"), ("bob", "d")] {
        try await decide(by: person, in: conversation)
        try await relay.notice("Only the person whose message the agent works on decides")
      }
      try await decide(by: "ann", in: "c")
      #expect(await verdict.allows)
      #expect(relay.messenger.questions.isEmpty)
      // The second press of a quick finger.
      try await decide(by: "ann", in: "c")
      try await relay.notice(Self.notOpen)
      #expect(try await relay.audit() == [.requested, .approvedOnce])
    }
  }

  @Test func `a number is no answer to an approval`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      let question = try await relay.question()
      try await relay.messenger.write("1")
      try await relay.notice("⏳ Queued")
      try await relay.messenger.write("/relay deny \(question.dialog)")
      #expect(await !verdict.allows)
      #expect(try await relay.audit() == [.requested, .denied])
    }
  }

  @Test func `a call that nobody decides about in time is denied, and a late press is told so`() async throws {
    var settings = ApprovalFixture.settings
    settings.timeout = .milliseconds(1)
    try await ApprovalFixture.run(settings, in: folder) { relay in
      let session = try await relay.begin()
      #expect(
        await relay.approve(in: session)
          == ApprovalVerdict(allows: false, reason: "Denied: nobody decided within 1 ms."))
      let question = try await relay.question()
      #expect(await relay.messenger.closings.next()?.hasSuffix("— denied: nobody decided within 1 ms") == true)
      try await relay.messenger.press(question.button("Approve once"))
      try await relay.notice(Self.notOpen)
      #expect(try await relay.audit() == [.requested, .expired])
    }
  }

  @Test func `a person has no longer than the agent waits`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      let call = ToolCall(tool: "bash", input: ["command": "git push"], directory: "/work")
      #expect(
        await relay.router.approvals.approve(call, in: session.id, within: .milliseconds(1))
          == ApprovalVerdict(allows: false, reason: "Denied: nobody decided within 1 ms."))
    }
  }

  @Test func `a call that is too long to be read whole is approved once only`() async throws {
    var settings = ApprovalFixture.settings
    settings.persistentGrants = true
    try await ApprovalFixture.run(settings, in: folder) { relay in
      let session = try await relay.begin()
      async let granting = relay.approve("git push", in: session)
      try await relay.messenger.press(try await relay.question().button("Approve for this session"))
      #expect(await granting.allows)
      let call = ToolCall(tool: "bash", input: ["command": "git push"], isTruncated: true, directory: "/work")
      async let verdict = relay.router.approvals.approve(call, in: session.id)
      let question = try await relay.question()
      #expect(question.labels == ["Approve once", "Deny"])
      try await relay.messenger.press(question.button("Deny"))
      #expect(await !verdict.allows)
    }
  }

  @Test(arguments: [
    ("/stop", "the run was stopped"), ("/close", "the session was closed"),
    ("/disconnect", "the conversation turned to another session"),
    ("/new", "the conversation turned to another session"),
  ])
  func `an approval is cancelled when its run, session or conversation is not there any more`(
    command: String, why: String
  ) async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      let question = try await relay.question()
      try await relay.messenger.write(command)
      #expect(await verdict == ApprovalVerdict(allows: false, reason: "Denied: \(why)."))
      try await relay.messenger.press(question.button("Approve once"))
      try await relay.notice(Self.notOpen)
      #expect(try await relay.store.approvalEvents(last: 9).map(\.detail) == [nil, why])
    }
  }

  @Test func `an approval ends with its run`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin("/confirm")
      // Of the agent, which ends its run with the answer.
      _ = try await relay.question()
      async let verdict = relay.approve(in: session)
      _ = try await relay.question()
      try await relay.messenger.write("yes")
      #expect(await verdict == ApprovalVerdict(allows: false, reason: "Denied: the run has ended."))
    }
  }

  @Test func `an approval is cancelled when the agent is gone`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin("/confirm")
      // The agent asks something itself: it has started.
      _ = try await relay.question()
      async let verdict = relay.approve(in: session)
      _ = try await relay.question()
      kill(try #require(await session.status().pid), SIGKILL)
      #expect(await verdict == ApprovalVerdict(allows: false, reason: "Denied: the agent has ended."))
      #expect(try await relay.audit() == [.requested, .cancelled])
    }
  }

  @Test func `a caller that is gone denies its call`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      let call = Task { await relay.approve(in: session) }
      _ = try await relay.question()
      call.cancel()
      #expect(await call.value.allows == false)
      #expect(try await relay.store.approvalEvents(last: 1).map(\.detail) == ["the agent no longer waits"])
      for _ in 0..<50 { #expect(await Task { await relay.approve(in: session) }.cancelled().allows == false) }
    }
  }

  @Test func `a grant covers the same call in its session until the conversation turns away`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let first = relay.approve(in: session)
      try await relay.messenger.press(try await relay.question().button("Approve for this session"))
      #expect(await first.allows)
      #expect(await relay.approve(in: session) == ApprovalVerdict(allows: true, person: "Ann"))
      async let other = relay.approve("git push --force", in: session)
      try await relay.messenger.press(try await relay.question().button("Deny"))
      #expect(await !other.allows)
      #expect(
        try await relay.audit() == [.requested, .approvedForSession, .grantUsed, .requested, .denied])
      try await relay.messenger.write("/disconnect")
      try await relay.notice("")
      #expect(try await relay.audit().last == .grantRevoked)
      #expect(await !relay.approve(in: session).allows)
      #expect(
        try await relay.store.approvalEvents(last: 1).map(\.detail)
          == ["the conversation of its request talks to another session now"])
    }
  }

  @Test func `grants of sessions are offered and used only where they are allowed`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let first = relay.approve(in: session)
      try await relay.messenger.press(try await relay.question().button("Approve for this session"))
      #expect(await first.allows)
      var strict = ApprovalFixture.settings
      strict.sessionGrants = false
      await relay.router.approvals.apply(strict)
      async let second = relay.approve(in: session)
      let question = try await relay.question()
      #expect(question.labels == ["Approve once", "Deny"])
      try await relay.messenger.write("relay approve-session \(question.dialog)")
      try await relay.notice("That is not offered for this call")
      try await relay.messenger.press(question.button("Deny"))
      #expect(await !second.allows)
    }
  }

  @Test func `a persistent grant covers the same call in every session until it is revoked`() async throws {
    var settings = ApprovalFixture.settings
    settings.persistentGrants = true
    try await ApprovalFixture.run(settings, in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      try await relay.messenger.press(try await relay.question().button("Approve in all sessions"))
      #expect(await verdict.allows)
    }
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      async let verdict = relay.approve(in: session)
      try await relay.messenger.press(try await relay.question().button("Deny"))
      #expect(await !verdict.allows, "not while the configuration forbids them")
    }
    try await ApprovalFixture.run(settings, in: folder) { relay in
      try await relay.messenger.write("/new")
      let session = try await relay.begin()
      #expect(await relay.approve(in: session) == ApprovalVerdict(allows: true, person: "Ann"))
      let now = ApprovalFixture.timeSource.wallTime()
      let grant = try #require(try await relay.store.persistentGrants(now: now).first)
      #expect(await relay.router.approvals.revoke(grant.id) == nil)
      async let verdict = relay.approve(in: session)
      try await relay.messenger.press(try await relay.question().button("Deny"))
      #expect(await !verdict.allows)
      let events = try await relay.store.approvalEvents(last: 3)
      #expect(events.map(\.kind) == [.grantRevoked, .requested, .denied])
      #expect(events.first?.tool == "bash" && events.first?.rule == "push")
    }
  }

  @Test func `nobody can be asked about a call without a message, or of another daemon's session`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      try await relay.messenger.write("/new")
      try await relay.notice("")
      let session = try #require(await relay.sessions.awake().last)
      let verdict = await relay.approve(in: session)
      #expect(verdict.reason == "Denied: no person's message is being worked on, so nobody can be asked.")
      #expect(
        await !relay.router.approvals.approve(
          ToolCall(tool: "bash", input: ["command": "git push"], directory: "/"), in: "unknown"
        ).allows)
      #expect(try await relay.audit() == [.failed, .failed])
    }
  }

  @Test func `a call whose approval cannot be recorded is denied`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      await relay.store.close()
      #expect(
        await relay.approve(in: session)
          == ApprovalVerdict(allows: false, reason: "Denied: pi-relayd cannot record the approval."))
      #expect(relay.messenger.questions.isEmpty)
    }
  }

  @Test func `more calls than can be shown are denied`() async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let session = try await relay.begin()
      await withTaskGroup(of: ApprovalVerdict.self) { group in
        for number in 0..<20 { group.addTask { await relay.approve("git push \(number)", in: session) } }
        for _ in 0..<20 { _ = await relay.messenger.questions.next() }
        #expect(
          await relay.approve(in: session)
            == ApprovalVerdict(allows: false, reason: "Denied: 20 other calls wait for an approval."))
        _ = await session.abort()
        for await verdict in group { #expect(!verdict.allows) }
      }
    }
  }
}

extension Task where Failure == Never {
  /// Cancels the task before it can begin to wait, and takes its value.
  fileprivate func cancelled() async -> Success {
    cancel()
    return await value
  }
}
