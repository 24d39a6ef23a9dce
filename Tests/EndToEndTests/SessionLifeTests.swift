import ControlServer
import Glibc
import ProcessSupervision
import RelayHome
import RelayModel
import RelayStore
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  @Suite struct SessionLifeTests {
    @Test func `with one slot for agents, an idle agent is stopped for another`() async throws {
      try await RelayFixture.run(sessions: "maximum: 1") { relay in
        try await relay.messenger.say("/slow 10", id: "1", in: "c1")
        await relay.messenger.waitForText("The quick", in: "c1")
        try await relay.messenger.say("second", id: "2", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        try await relay.messenger.say("third", id: "3", in: "c1")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(try await relay.status().sessions.compactMap(\.pid).count == 1)
        // The first has to wait for an agent at work; the second only for an idle one to end.
        #expect(await relay.messenger.texts(in: "c1").allSatisfy { !$0.contains("All agents are busy") })
      }
    }

    @Test
    func
      `a message whose agent does not start waits, over kill and upgrade, until the agent starts or the message is dropped`()
      async throws
    {
      try await RelayFixture.run(isOldAgent: true, capabilities: FakeMessenger.withButtons) { relay in
        let agent = relay.scratch.path + "/old-agent"
        rename(agent, agent + ".away")
        try await relay.messenger.say("taken back", id: "0")
        await relay.messenger.waitForText("The message waits, because")
        _ = try await relay.messenger.request(MessageDeleted(id: "0", conversation: Conversation(id: "c1")))
        #expect(await relay.messenger.waitForOutcome(of: "0") == .stopped)
        try await relay.messenger.say("hello", id: "1")
        await relay.messenger.wait { $0.messages.contains { $0.text.contains("hello") && $0.buttons != nil } }
        try await relay.messenger.say("2", id: "drop")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)

        func questions() async -> [FakeMessenger.Shown] {
          await relay.messenger.messages.filter { $0.text.contains("The message waits") && $0.buttons != nil }
        }
        try await relay.messenger.say("again", id: "3")
        await relay.messenger.wait { $0.messages.contains { $0.text.contains("again") && $0.buttons != nil } }
        let first = try #require(await questions().last?.id)
        // No answer to the question: it waits behind.
        try await relay.messenger.say("another's words", id: "4", forwarded: true)
        await relay.messenger.waitForText("Queued")
        try await relay.killAndStart()
        await relay.messenger.wait {
          $0.messages.contains { $0.id != first && $0.text.contains("again") && $0.buttons != nil }
        }
        let second = try #require(await questions().last?.id)
        // One more waits behind when the next program asks: it is the same question, and stays as it is shown.
        try await relay.messenger.say("more words", id: "5", forwarded: true)
        await relay.messenger.wait { $0.messages.count { $0.text.contains("Queued") } >= 2 }
        #expect(try await relay.command("upgrade").exit == .exited(0))
        try await relay.waitForStatus { $0.sessions.first?.openDialogs == 1 }
        #expect(await questions().last?.id == second)
        rename(agent + ".away", agent)
        let button = try #require(await questions().last?.buttons?.first?.first?.id)
        try await relay.messenger.press(button, id: "try")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "4") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "5") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count == 3)
      }
    }

    @Test func `a question that is settled during an upgrade is closed`() async throws {
      try await RelayFixture.run(isOldAgent: true) { relay in
        let agent = relay.scratch.path + "/old-agent"
        rename(agent, agent + ".away")
        try await relay.messenger.say("hello", id: "1")
        await relay.messenger.waitForText("The message waits, because")
        rename(agent + ".away", agent)
        #expect(try await relay.command("upgrade").exit == .exited(0))
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("no longer needed")
        #expect(await relay.messenger.texts().allSatisfy { !$0.hasPrefix("❓") })
      }
    }

    @Test func `a start that waits for a slot has a notice, can be changed or withdrawn, and delays no other session`()
      async throws
    {
      try await RelayFixture.run(sessions: "maximum: 1") { relay in
        try await relay.messenger.say("/hang", id: "1", in: "c1")
        try await relay.waitForStatus { status in status.sessions.contains { $0.activity == .working } }
        try await relay.messenger.say("second", id: "2", in: "c2")
        await relay.messenger.waitForText("All agents are busy", in: "c2")
        _ = try await relay.messenger.request(
          MessageEdited(
            id: "2", conversation: Conversation(id: "c2", kind: .dm), sender: Sender(id: "u1", name: "Ann"),
            text: "second thoughts"))
        await relay.messenger.waitForText("The waiting message was replaced", in: "c2")
        try await relay.messenger.say("/help", id: "3", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .handled)
        try await relay.messenger.say("third", id: "4", in: "c3")
        await relay.messenger.waitForText("All agents are busy", in: "c3")
        try await relay.messenger.say("/stop", id: "5", in: "c3")
        #expect(await relay.messenger.waitForOutcome(of: "4") == .stopped)
        try await relay.messenger.say("/stop", id: "6", in: "c1")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(
          await relay.messenger.texts(in: "c2", role: .answer).first?.hasPrefix("You wrote: second thoughts") == true)
      }
    }

    @Test func `closing a session ends its run, its agent and its question`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("waiting", id: "2")
        await relay.messenger.waitForText("Queued")
        let pid = try #require(try await relay.status().sessions.first?.pid)
        try await relay.messenger.say("/close", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .stopped)
        try await waitForEnd(of: pid)
        #expect(try await relay.status().sessions.isEmpty)
        #expect(await relay.messenger.typing.last == false)
        try await relay.messenger.say("a new one", id: "4")
        #expect(await relay.messenger.waitForOutcome(of: "4") == .answered)
      }
    }

    @Test func `the people of a session that was closed elsewhere are told`() async throws {
      try await RelayFixture.run { relay in
        for (number, place) in ["c1", "c2", "c3"].enumerated() {
          try await relay.messenger.say(number == 0 ? "hello" : "/use 1", id: "0", in: place)
          await relay.messenger.wait { !$0.texts(in: place).isEmpty }
        }
        #expect(await relay.messenger.waitForOutcome(of: "0") != nil)
        try await relay.messenger.say("/close", id: "1")
        await relay.messenger.waitForText("was closed elsewhere", in: "c2")
        await relay.messenger.waitForText("was closed elsewhere", in: "c3")
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("was closed elsewhere") })
      }
    }

    @Test func `a person who returns to a removed session is told`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let session = try #require(try await relay.status().sessions.first).id
        _ = await relay.stop()
        let store = try SQLiteStore(path: relay.home.database)
        try await store.removeSession(session)
        await store.close()
        try await relay.start()
        try await relay.messenger.say("still there?", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts().contains { $0.contains("no longer exists; your message starts another") })
      }
    }

    @Test func `an agent that does not answer can be stopped`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/hang", id: "1")
        await relay.messenger.wait { $0.typing.last == true }
        try await relay.messenger.say("/stop", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
      }
    }

    @Test func `a run over the configured time is stopped with a notice`() async throws {
      try await RelayFixture.run(sessions: "callTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/hang", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        await relay.messenger.waitForText("The run took longer than 1 s and is stopped.")
      }
    }

    @Test func `forwarded text is neither a command nor an answer`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/confirm", id: "1")
        await relay.messenger.waitForText("❓ **Clear the cache?**")
        try await relay.messenger.say("yes", id: "2", forwarded: true)
        await relay.messenger.waitForText("Queued")
        try await relay.messenger.say("/close", id: "3", forwarded: true)
        try await relay.messenger.say("no", id: "4")
        await relay.messenger.waitForText("You said no.")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        await relay.messenger.waitForText("[Forwarded words of someone else:]\n/close")
      }
    }

    @Test func `a session that was left has no growing answer`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 30", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/new other", id: "2")
        await relay.messenger.waitForText("New session other")
        try await relay.messenger.say("hello", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        let answers = await relay.messenger.texts(role: .answer)
        #expect(answers.count == 2)
        #expect(answers[0].hasPrefix("The quick") && answers[1].hasPrefix("You wrote: hello"))
        #expect(await relay.messenger.messages.allSatisfy { !$0.isGrowing })
      }
    }

    @Test func `a steered message is not run again when the agent ends`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/tool 60000", id: "1")
        await relay.messenger.waitForText("Running bash")
        try await relay.messenger.say("/steer look left", id: "2")
        await relay.messenger.waitForText("The working agent has your message")
        kill(try #require(try await relay.status().sessions.first?.pid), SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        // It had not been taken: it runs once, as a message of its own.
        await relay.messenger.waitForText("You wrote: look left")
        try await relay.messenger.say("last", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count { $0.hasPrefix("You wrote: look left") } == 1)
      }
    }
  }

  @Suite struct DescriptorTests {
    @Test func `with 64 descriptors two plugins and a session work, and the next start is refused by name`()
      async throws
    {
      // Messengers without a configuration take descriptors while they are asked.
      let others = ["attachments", "discord", "irc", "slack"].map { "\($0): {enabled: false}" }
      let config = RelayFixture.defaultConfig + "\nplugins: {\(others.joined(separator: ", "))}\n"
      try await RelayFixture.run(config: config, descriptorLimit: 64) { relay in
        try await relay.messenger.say("hello", id: "1", in: "c0")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        for number in 1...8 { try await relay.messenger.say("hello", id: "n\(number)", in: "c\(number)") }
        await relay.messenger.wait { messenger in
          messenger.messages.contains { $0.text.contains("was not started: only") }
        }
        try await relay.messenger.say("still here?", id: "2", in: "c0")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(try await relay.status().plugins.allSatisfy { $0.restarts == 0 })
      }
    }
  }
}
