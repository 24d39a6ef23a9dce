import ControlServer
import Glibc
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// The button that runs a message again which its agent has forgotten.
  @Suite struct RunAgainTests {
    /// Lets the agent end in its first turn, before it has saved anything.
    private func buttonOfForgotten(_ words: String, _ relay: RelayFixture) async throws -> Button {
      try await relay.messenger.say(words, id: "1")
      await relay.messenger.waitForText("The quick")
      kill(try #require(try await relay.status().sessions.first?.pid), SIGKILL)
      #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
      return try #require(await relay.messenger.messages.last { $0.buttons != nil }?.buttons?.first?.first)
    }

    @Test(arguments: RelayFixture.Break.allCases)
    func `the next daemon runs a forgotten message again, once, for an admitted person`(change: RelayFixture.Break)
      async throws
    {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        let button = try await buttonOfForgotten("/slow 20 with care", relay)
        try await relay.goThrough(change)
        try await relay.messenger.press(button.id, id: "stranger", from: "u9")
        async let one: Void = relay.messenger.press(button.id, id: "a")
        async let other: Void = relay.messenger.press(button.id, id: "b")
        _ = try await (one, other)
        var outcomes: [MessageSettled.Outcome?] = []
        for id in ["action:a", "action:b"] { outcomes.append(await relay.messenger.waitForOutcome(of: id)) }
        #expect(Set(outcomes) == [.answered, .handled])
        #expect(await relay.messenger.outcomes["action:stranger"] == nil)
        #expect(await relay.messenger.texts(role: .answer).count { $0.hasSuffix("(with care)") } == 1)
        // The daemon after it, too, knows that it has run.
        try await relay.goThrough(change)
        try await relay.messenger.press(button.id, id: "c")
        #expect(await relay.messenger.waitForOutcome(of: "action:c") == .handled)
        #expect(await relay.messenger.texts().count { $0.contains("That message is already running again") } == 2)
      }
    }

    @Test func `a press that a daemon stored and did not handle is handled by the next, once`() async throws {
      try await RelayFixture.run(sessions: "maximum: 1", capabilities: FakeMessenger.withButtons) { relay in
        let button = try await buttonOfForgotten("/slow 20 with care", relay)
        try await relay.messenger.say("/hang", id: "2", in: "c2")
        try await relay.waitForStatus { status in status.sessions.contains { $0.activity == .working } }
        try await relay.messenger.press(button.id, id: "again")
        await relay.messenger.waitForText("All agents are busy")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "action:again") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count { $0.hasSuffix("(with care)") } == 1)
      }
    }

    @Test func `a message that is run again answers no question that is open`() async throws {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        let button = try await buttonOfForgotten("/slow 20 with care", relay)
        try await relay.messenger.say("/input", id: "2")
        await relay.messenger.waitForText("What is your name?")
        try await relay.messenger.press(button.id, id: "again")
        await relay.messenger.waitForText("Queued")
        try await relay.messenger.say("Ann", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "action:again") == .answered)
        #expect(await relay.messenger.texts(role: .answer).contains("You answered: Ann"))
      }
    }
  }
}
