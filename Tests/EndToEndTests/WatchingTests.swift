import FoundationEssentials
import ProcessSupervision
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// The choice of conversations that are shown a session's messages when several talk to the session.
  @Suite struct WatchingTests {
    /// Two that share the main session, as channels do by themselves.
    private static let config =
      RelayFixture.defaultConfig + "\n      conversations: {one: {use: main}, two: {use: main}}\n"

    private func say(_ text: String, id: String, in conversation: String, _ relay: RelayFixture) async throws {
      try await relay.messenger.say(text, id: id, in: conversation)
    }

    /// Says something, and waits for the end of the answer.
    private func ask(_ text: String, id: String, in conversation: String, _ relay: RelayFixture) async throws {
      try await say(text, id: id, in: conversation, relay)
      #expect(await relay.messenger.waitForOutcome(of: id) == .answered)
    }

    /// Lets two conversations talk to one session.
    private func share(_ relay: RelayFixture) async throws {
      try await ask("hello", id: "1", in: "one", relay)
      try await say("/use 1", id: "2", in: "two", relay)
      _ = await relay.messenger.waitForOutcome(of: "2")
    }

    /// Steers a message of one conversation into the run of another.
    private func steerIntoOthersRun(_ relay: RelayFixture) async throws {
      try await ask("hello", id: "1", in: "two", relay)
      try await say("/slow 20", id: "2", in: "one", relay)
      await relay.messenger.waitForText("The quick", in: "one")
      try await say("/steer look left", id: "3", in: "two", relay)
      #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
    }

    /// Behind everything that was said before.
    private func texts(of conversation: String, _ relay: RelayFixture) async throws -> [String] {
      let id = "probe-\(conversation)-\(await relay.messenger.messages.count)"
      try await relay.messenger.say("/help", id: id, in: conversation)
      _ = await relay.messenger.waitForOutcome(of: id)
      return await relay.messenger.texts(in: conversation).filter { !$0.contains("Write to the agent") }
    }

    @Test func `an answer goes to the channel that asked, and to the people who chose the session`() async throws {
      try await RelayFixture.run(config: Self.config) { relay in
        try await ask("from one", id: "1", in: "one", relay)
        try await ask("from two", id: "2", in: "two", relay)
        try await relay.messenger.say("/use 1", id: "3", in: "me")
        _ = await relay.messenger.waitForOutcome(of: "3")
        try await ask("/tool", id: "4", in: "two", relay)
        let one = try await texts(of: "one", relay)
        #expect(one.count { $0.hasPrefix("You wrote: from one") } == 1)
        #expect(!one.contains { $0.contains("from two") || $0.contains("▶") || $0.contains("bash") }, "\(one)")
        let two = try await texts(of: "two", relay)
        #expect(two.contains { $0.contains("from two") } && two.contains { $0.contains("The folder is empty") })
        #expect(!two.contains { $0.contains("from one") }, "\(two)")
        let mine = try await texts(of: "me", relay)
        #expect(mine.contains { $0.hasPrefix("▶") } && mine.contains { $0.contains("The folder is empty") }, "\(mine)")
      }
    }

    @Test(arguments: [true, false])
    func `an answer goes to the channel that asked after a restart and after an upgrade`(isUpgrade: Bool) async throws {
      try await RelayFixture.run(config: Self.config) { relay in
        for (id, channel) in [("1", "one"), ("2", "two")] {
          try await ask("hello", id: id, in: channel, relay)
        }
        if isUpgrade {
          try await say("/slow 30", id: "3", in: "two", relay)
          await relay.messenger.waitForText("The quick", in: "two")
          #expect(try await relay.command("upgrade").exit == .exited(0))
        } else {
          try await relay.killAndStart()
          try await say("/slow 3", id: "3", in: "two", relay)
        }
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(try await texts(of: "two", relay).contains { $0.contains("The quick brown") })
        #expect(try await !texts(of: "one", relay).contains { $0.contains("The quick") || $0.contains("▶") })
      }
    }

    @Test(arguments: RelayFixture.Break.allCases)
    func `a quiet conversation is shown its session after the daemon was replaced`(
      _ change: RelayFixture.Break
    ) async throws {
      try await RelayFixture.run { relay in
        try await share(relay)
        // Of what was settled before, nothing is left to do.
        try await relay.goThrough(.stop)
        try await relay.goThrough(change)
        try await say("again", id: "3", in: "one", relay)
        await relay.messenger.waitForText("You wrote: again", in: "two")
        try await say("/select", id: "4", in: "one", relay)
        await relay.messenger.waitForText("Which colour?", in: "two")
        try await say("2", id: "5", in: "two", relay)
        #expect(await relay.messenger.waitForOutcome(of: "4") == .answered)
      }
    }

    @Test func `a quiet conversation is told when its session is closed after a restart`() async throws {
      try await RelayFixture.run { relay in
        try await share(relay)
        try await relay.goThrough(.stop)
        try await say("/close", id: "3", in: "one", relay)
        await relay.messenger.waitForText("was closed elsewhere", in: "two")
      }
    }

    @Test func `a question goes to the conversation of its run, and only there is it answered`() async throws {
      try await RelayFixture.run(config: Self.config) { relay in
        try await ask("hello", id: "1", in: "two", relay)
        try await say("/select", id: "2", in: "one", relay)
        await relay.messenger.waitForText("Which colour?", in: "one")
        try await say("3", id: "3", in: "two", relay)
        await relay.messenger.waitForText("Queued", in: "two")
        try await say("2", id: "4", in: "one", relay)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(await relay.messenger.texts(in: "one").contains { $0.hasPrefix("You answered: Green") })
        let two = await relay.messenger.texts(in: "two")
        #expect(
          two.contains { $0.hasPrefix("You wrote: 3") } && !two.contains { $0.contains("colour") }, "\(two)")
      }
    }

    @Test func `a message steered into another's run is also answered in its own conversation`() async throws {
      try await RelayFixture.run(config: Self.config) { relay in
        try await steerIntoOthersRun(relay)
        await relay.messenger.waitForText("look left", in: "two")
        #expect(await !relay.messenger.texts(in: "two").contains { $0.contains("The quick") })
      }
    }

    /// Changes what was said to the agent in its own copy, as an extension of pi may.
    private static let changing = #"sed -u '/"role":"user"/s/look left/glance left/'"#

    @Test func `a steered message that an extension has changed is also answered in its own conversation`() async throws
    {
      try await RelayFixture.run(config: Self.config, agentFilter: Self.changing) { relay in
        try await steerIntoOthersRun(relay)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .handled)
        #expect(try await texts(of: "two", relay).contains { $0.hasPrefix("You wrote:") && $0.contains("look left") })
      }
    }

    @Test func `a question about a silent agent is asked and answered in a conversation that turns to its session`()
      async throws
    {
      try await RelayFixture.run(sessions: "silenceTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/hang", id: "1")
        await relay.messenger.waitForText("The agent has said nothing for")
        try await relay.messenger.say("/use 1", id: "2", in: "c2")
        await relay.messenger.waitForText("The agent has said nothing for", in: "c2")
        try await relay.messenger.say("2", id: "3", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
      }
    }
  }
}
