import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayModel
import RelayStore
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// The next daemon continues what people saw of the last.
  @Suite struct RestartOutputTests {
    @Test func `the demo agent is announced once, over restarts and new sessions`() async throws {
      // A search path without pi.
      try await RelayFixture.run(namesAgent: false, programs: .built(with: ["PATH": "/nowhere"])) { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.killAndStart()
        try await relay.messenger.say("again", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        for (id, text) in [("3", "/new"), ("4", "in another session")] {
          try await relay.messenger.say(text, id: id)
          _ = await relay.messenger.waitForOutcome(of: id)
        }
        try await relay.messenger.say("elsewhere", id: "5", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "5") == .answered)
        #expect(await relay.messenger.texts().count { $0.hasPrefix("This is the demo agent") } == 1)
      }
    }

    @Test func `a growing message is completed by the next daemon with everything it had shown`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick brown fox jumps")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        let answers = await relay.messenger.messages.filter { $0.role == .answer }
        #expect(answers.count == 1)
        let shown = try #require(answers.first)
        #expect(!shown.isGrowing)
        // The final text is the longest that was shown: nothing is taken back.
        #expect(shown.history.allSatisfy { shown.text.utf8.count >= $0.utf8.count })
        let streams = relay.home.streams
        #expect(try FileManager.default.contentsOfDirectory(atPath: streams).isEmpty)
      }
    }

    @Test func `a stop is announced if configured`() async throws {
      let config = RelayFixture.defaultConfig + "\nshutdown: {tellConversations: true}\n"
      try await RelayFixture.run(config: config) { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        _ = await relay.stop()
        #expect(await relay.messenger.texts(role: .notice).contains { $0.contains("pi-relayd is stopping") })
      }
    }

    @Test func `an open question is closed after a restart`() async throws {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        try await relay.messenger.say("/select", id: "1")
        await relay.messenger.waitForText("Which colour?")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        await relay.messenger.waitForText("The question was withdrawn")
        let dialogs = await relay.messenger.messages.filter { $0.role == .dialog }
        #expect(dialogs.map(\.text) == ["✖ The question was withdrawn, because pi-relayd was restarted: Which colour?"])
        #expect(dialogs.allSatisfy { $0.buttons == nil })
      }
    }

    @Test func `text that was typed for a closed question is not a prompt`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        _ = await relay.stop()
        // As the daemon stores it while a question waits; it ended before it could look at it.
        let message = MessageReceived(
          id: "2", conversation: Conversation(id: "c1", kind: .dm), sender: Sender(id: "u1", name: "Ann"), text: "yes")
        let place = ConversationKey(instance: "fake/default", conversation: "c1")
        let store = try SQLiteStore(path: relay.home.database)
        let stored = StoredMessage(key: MessageKey(conversation: place, id: "2"), message: message, isAnswer: true)
        #expect(try await store.accept(stored, state: nil))
        await store.close()
        try await relay.start()
        await relay.messenger.waitForText("so \"yes\" did not answer it")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        #expect(await relay.messenger.texts(role: .answer).count == 1)
      }
    }

    @Test func `a press of a button without effect is reported without its id`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        _ = await relay.stop()
        // As the daemon stores the press; it ended before it could look at it.
        let press = MessageReceived(
          id: "action:2", conversation: Conversation(id: "c1", kind: .dm), sender: Sender(id: "u1", name: "Ann"),
          text: "", forwarded: true)
        let place = ConversationKey(instance: "fake/default", conversation: "c1")
        let store = try SQLiteStore(path: relay.home.database)
        let stored = StoredMessage(key: MessageKey(conversation: place, id: press.id), message: press, isAnswer: true)
        #expect(try await store.accept(stored, state: nil))
        await store.close()
        try await relay.start()
        await relay.messenger.waitForText("a button that no longer had an effect")
        #expect(await relay.messenger.waitForOutcome(of: "action:2") == .failed)
      }
    }

    @Test func `the progress of a running tool is removed after a restart`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/tool 60000", id: "1")
        await relay.messenger.waitForText("⏳ Running")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("⏳ Running") })
      }
    }

    @Test func `an outcome that could not be reported is reported by the next daemon`() async throws {
      try await RelayFixture.run { relay in
        let refusal = WireError(.internalError, "not now")
        await relay.messenger.fail(MessageSettled.method, with: [refusal, refusal, refusal])
        try await relay.messenger.say("hello", id: "1")
        try await relay.waitForLog("the outcome of a message could not be reported")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count == 1)
      }
    }

    @Test func `a send whose receipt was lost with the daemon is found by its key`() async throws {
      try await RelayFixture.run { relay in
        await relay.messenger.swallowAnswers(1)
        try await relay.messenger.say("/help", id: "1")
        await relay.messenger.waitForText("Write to the agent")
        try await relay.killAndStart()
        try await relay.messenger.say("after", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts().count { $0.contains("Write to the agent") } == 1)
      }
    }

    @Test func `a send whose receipt was lost with the daemon is marked when no look-up can tell`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.idempotencyKey = nil
      try await RelayFixture.run(capabilities: capabilities) { relay in
        await relay.messenger.swallowAnswers(1)
        try await relay.messenger.say("/help", id: "1")
        await relay.messenger.waitForText("Write to the agent")
        try await relay.killAndStart()
        await relay.messenger.waitForText("(possible repeat) Write to the agent")
        try await relay.messenger.say("after", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts().count { $0.contains("Write to the agent") } == 2)
      }
    }
  }
}
