import ControlServer
import Glibc
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Questions that are open when the daemon ends, is killed, or becomes another program.
  @Suite struct QuestionTests {
    typealias Break = RelayFixture.Break

    /// A stop that waited for an answer would outlast the test.
    private static let config = RelayFixture.defaultConfig + "\nshutdown: {drainSeconds: 3600}\n"

    /// Waits until the relay has said everything it had to say before an answer to this command.
    private func waitForAnswer(to id: String, _ relay: RelayFixture) async throws {
      try await relay.messenger.say("/status", id: id)
      #expect(await relay.messenger.waitForOutcome(of: id) == .handled)
    }

    // MARK: - The agent's own

    @Test(arguments: ["/confirm", "/select", "/input"], [Break.stop, .kill])
    func `a question of an agent that ends with the daemon is closed once, and its old button gets a notice`(
      command: String, change: Break
    ) async throws {
      try await RelayFixture.run(config: Self.config, capabilities: FakeMessenger.withButtons) { relay in
        try await relay.messenger.say(command, id: "1")
        await relay.messenger.wait { $0.questions.count == 1 }
        let asked = try #require(await relay.messenger.questions.first)
        let title = try #require(asked.text.split(separator: "\n").first).filter { $0 != "*" }.dropFirst(2)
        try await relay.goThrough(change)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        try await waitForAnswer(to: "2", relay)
        let shown = await relay.messenger.messages.filter { $0.role == .dialog }
        let closed = try #require(shown.first)
        #expect(shown.count == 1 && closed.buttons == nil && closed.history.count == 2, "\(shown)")
        #expect(closed.text.hasPrefix("✖") && closed.text.contains(title), "\(closed.text)")
        #expect(closed.text.contains(change == .stop ? "pi-relayd is stopping" : "pi-relayd was restarted"))
        guard let button = asked.buttons?.first?.first else {
          return #expect(command == "/input")
        }
        try await relay.messenger.press(button.id, id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "action:3") == .handled)
        await relay.messenger.waitForText("That question is already settled.")
      }
    }

    @Test(arguments: [Break.stop, .kill])
    func `a messenger that cannot change a question says below it that the question is closed`(
      change: Break
    ) async throws {
      var capabilities = FakeMessenger.usual
      capabilities.edit = nil
      try await RelayFixture.run(config: Self.config, capabilities: capabilities) { relay in
        try await relay.messenger.say("/confirm", id: "1")
        await relay.messenger.wait { $0.questions.count == 1 }
        try await relay.goThrough(change)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        try await waitForAnswer(to: "2", relay)
        let texts = await relay.messenger.texts()
        #expect(texts.count { $0.hasPrefix("✖") && $0.contains("Clear the cache?") } == 1, "\(texts)")
      }
    }

    @Test(arguments: [
      ("/confirm", "yes", "You said yes."), ("/select", "Violet", "You answered: Violet"),
      ("/input", "Ann", "You answered: Ann"),
    ])
    func `a question of the agent is answered by text after an upgrade`(
      command: String, words: String, answer: String
    ) async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say(command, id: "1")
        await relay.messenger.wait { $0.questions.count == 1 }
        try await relay.goThrough(.upgrade)
        try await relay.messenger.say(words, id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer) == [answer])
        let shown = await relay.messenger.messages.filter { $0.role == .dialog }
        #expect(shown.count == 1 && shown.first?.text.hasPrefix("✔") == true, "\(shown)")
      }
    }

    @Test func `the time for which a question has waited counts after an upgrade`() async throws {
      try await RelayFixture.run(sessions: "questionTimeoutSeconds: 3") { relay in
        try await relay.messenger.say("/confirm", id: "1")
        await relay.messenger.wait { $0.questions.count == 1 }
        // If the time started again with each upgrade, it would never pass.
        while await relay.messenger.outcomes["1"] == nil {
          try Task.checkCancellation()
          try await relay.goThrough(.upgrade)
        }
        #expect(await relay.messenger.outcomes["1"] == .answered)
        #expect(await relay.messenger.texts(role: .dialog).allSatisfy { $0.contains("nobody answered within 3 s") })
      }
    }

    // MARK: - The relay's own

    /// Goes through a break with a question of the relay itself open, and answers it then.
    private func survives(
      _ change: Break, _ relay: RelayFixture, asking words: String, then answer: String
    ) async throws {
      await relay.messenger.wait { $0.questions.contains { $0.text.contains(words) } }
      let first = try #require(await relay.messenger.questions.first)
      let button = try #require(first.buttons?.first?.last?.id)
      try await relay.goThrough(change)
      if change == .upgrade {
        try await relay.waitForStatus { $0.sessions.first?.openDialogs == 1 }
        #expect(await relay.messenger.questions == [first])
        return try await relay.messenger.press(button, id: "answer")
      }
      await relay.messenger.wait { $0.questions.contains { $0.id != first.id && $0.text.contains(words) } }
      #expect(await relay.messenger.questions.count == 1)
      let old = try #require(await relay.messenger.messages.first { $0.id == first.id })
      #expect(old.text.hasPrefix("✖") && old.buttons == nil && old.history.count == 2, "\(old)")
      try await relay.messenger.press(button, id: "old")
      await relay.messenger.waitForText("That question is already settled.")
      try await relay.messenger.say(answer, id: "answer")
    }

    @Test(arguments: Break.allCases)
    func `the question about a message whose agent does not start is asked again after an outage`(change: Break)
      async throws
    {
      try await RelayFixture.run(config: Self.config, isOldAgent: true, capabilities: FakeMessenger.withButtons) {
        relay in
        let agent = relay.scratch.path + "/old-agent"
        rename(agent, agent + ".away")
        try await relay.messenger.say("hello", id: "1")
        try await survives(change, relay, asking: "The message waits, because", then: "Drop")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
      }
    }

    @Test(arguments: Break.allCases)
    func `the question about a message that the agent may have taken is asked again after an outage`(change: Break)
      async throws
    {
      try await RelayFixture.run(
        config: Self.config, agent: ["--dialect", "cumulative"], isOldAgent: true,
        capabilities: FakeMessenger.withButtons
      ) { relay in
        try await relay.messenger.say("/crash now", id: "1")
        try await survives(change, relay, asking: "It is not known whether the agent took", then: "Drop")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
      }
    }

    @Test(arguments: [Break.stop, .kill])
    func `a question about a silent agent ends with the agent's run`(change: Break) async throws {
      try await RelayFixture.run(config: Self.config, sessions: "silenceTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/hang", id: "1")
        await relay.messenger.waitForText("The agent has said nothing for")
        try await relay.goThrough(change)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        try await waitForAnswer(to: "2", relay)
        #expect(await relay.messenger.questions.isEmpty)
        let shown = await relay.messenger.messages.filter { $0.role == .dialog }
        #expect(shown.allSatisfy { $0.text.hasPrefix("✖") && $0.history.count == 2 }, "\(shown)")
      }
    }
  }
}
