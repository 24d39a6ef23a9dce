import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Tool calls of a pi in a terminal, which rules of approvals match.
  @Suite(.enabled(if: PlayedPi.node != nil, "there is no Node 20 or later")) struct ExtensionApprovalTests {
    @Test func `a call that a rule matches is made when the person approves it, and not when it is denied`()
      async throws
    {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        try await relay.messenger.say("call git push", id: "1")
        try await relay.messenger.answer(pressing: "Approve")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await pi.wait(for: #""verdict":"allowed""#)
        try await relay.messenger.say("call git push --force", id: "2")
        try await relay.messenger.answer(pressing: "Deny")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        await pi.wait(for: #""block":true"#)
      }
    }

    @Test func `a run that is stopped in the terminal takes its approval back`() async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        try await relay.messenger.say("hold git push", id: "1")
        _ = await relay.messenger.buttonsOfQuestion()
        try pi.tell("abort")
        await relay.messenger.waitForText("denied: the agent no longer waits")
        await pi.wait(for: "the run was stopped")
        try pi.tell("go on")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `a call that no rule matches waits for nobody`() async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        try await relay.messenger.say("call ls", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await pi.wait(for: #""verdict":"allowed""#)
      }
    }

    @Test func `a call of a turn that was typed in the terminal waits for nobody`() async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        try pi.tell("type call git push")
        await pi.wait(for: #""verdict":"allowed""#)
      }
    }
  }
}
