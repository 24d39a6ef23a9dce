import Glibc
import RelayWire
import Supervisor
import TestSupport
import Testing

extension EndToEnd {
  /// The daemon ends, in one way or another, and the next finds everything.
  @Suite struct RestartTests {
    @Test func `a session and its conversation outlive the daemon`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say("/name kept", id: "2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        let before = try #require(try await relay.status().sessions.first)
        try await relay.killAndStart()
        let after = try #require(try await relay.status().sessions.first)
        #expect(after.id == before.id)
        #expect(after.name == "kept")
        #expect(after.activity == .stopped)
        try await relay.messenger.say("still there?", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(try await relay.status().sessions.map(\.sessionFile) == [before.sessionFile])
        #expect(await relay.messenger.texts(role: .answer).count == 2)
      }
    }

    @Test func `a killed daemon loses nothing that was written and reports what was running`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("first", id: "2")
        try await relay.messenger.say("second", id: "3")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        let texts = await relay.messenger.texts()
        #expect(texts.count { $0.contains("pi-relayd was restarted while the agent worked on") } == 1)
        #expect(texts.count { $0.hasPrefix("The quick") } == 1)
        let answers = await relay.messenger.texts(role: .answer)
        let first = try #require(answers.firstIndex { $0.hasPrefix("You wrote: first") })
        let second = try #require(answers.firstIndex { $0.hasPrefix("You wrote: second") })
        #expect(first < second)
        #expect(try await relay.status().sessions.count == 1)
        // Nothing is left for a third daemon.
        try await relay.killAndStart()
        try await relay.messenger.say("third", id: "4")
        #expect(await relay.messenger.waitForOutcome(of: "4") == .answered)
        #expect(await relay.messenger.texts().count { $0.contains("pi-relayd was restarted") } == 1)
        #expect(await relay.messenger.texts(role: .answer).count { $0.hasPrefix("You wrote: first") } == 1)
      }
    }

    @Test func `a message that the last daemon had is known to the next`() async throws {
      try await RelayFixture.run { relay in
        #expect(try await relay.messenger.say("hello", id: "1").stored)
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.killAndStart()
        #expect(try await !relay.messenger.say("hello", id: "1").stored)
        #expect(try await relay.messenger.say("more", id: "2").stored)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count { $0.hasPrefix("You wrote: hello") } == 1)
      }
    }

    @Test func `the state of a plugin comes back to it`() async throws {
      try await RelayFixture.run { relay in
        _ = try await relay.messenger.request(StateSave(state: ["cursor": 7]))
        try await relay.killAndStart()
        await relay.messenger.wait { $0.generation == 2 }
        #expect(await relay.messenger.lastInitialize?.state == ["cursor": 7])
      }
    }

    @Test func `a stop parks what waits, and the next start goes on with it`() async throws {
      let config = RelayFixture.usualConfig + "\nshutdown: {drainSeconds: 0}\n"
      try await RelayFixture.run(config: config) { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("later", id: "2")
        #expect(await relay.stop() == .exited(0))
        #expect(relay.log.contains { $0.contains("cut short; 1 waiting message(s) run after the next start") })
        try await relay.start()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(
          await relay.messenger.texts().count { $0.contains("pi-relayd was stopped while the agent worked") } == 1)
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

    @Test func `a send whose receipt was lost with the daemon is marked where nothing can tell`() async throws {
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

    @Test(arguments: [("1", MessageSettled.Outcome.failed), ("2", .stopped)])
    func `where nothing proves that the agent took a message the person is asked`(
      reply: String, outcome: MessageSettled.Outcome
    ) async throws {
      try await RelayFixture.run(agent: ["--dialect", "cumulative"], isOldAgent: true) { relay in
        try await relay.messenger.say("/crash now", id: "1")
        await relay.messenger.waitForText("It is not known whether the agent took this message")
        try await relay.messenger.say(reply, id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == outcome)
        try await relay.messenger.say("fine", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
      }
    }

    @Test func `messages written before the conversation turned to another session stay with the first`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "0")
        _ = await relay.messenger.waitForOutcome(of: "0")
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("for the first", id: "2")
        try await relay.messenger.say("/new second", id: "3")
        _ = await relay.messenger.waitForOutcome(of: "3")
        try await relay.killAndStart()
        // Its answer comes where the first session is watched, which is nowhere any more; that it is done is told.
        try await relay.messenger.say("/use 1", id: "4")
        try await relay.messenger.say("and now?", id: "5")
        #expect(await relay.messenger.waitForOutcome(of: "5") == .answered)
        let sessions = try await relay.status().sessions
        #expect(sessions.map(\.name).last == "second")
        #expect(sessions.last?.sessionFile == nil, "the second session has never worked")
      }
    }
  }
}
