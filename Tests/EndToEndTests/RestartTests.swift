import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayModel
import RelayStore
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
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
        #expect(after.activity == .asleep)
        try await relay.messenger.say("still there?", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(try await relay.status().sessions.map(\.sessionFile) == [before.sessionFile])
        #expect(await relay.messenger.texts(role: .answer).count == 2)
      }
    }

    @Test func `a killed daemon loses no written text and reports the interrupted run`() async throws {
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

    @Test func `a native command that waits is carried out by the next daemon`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        let command = CommandInvoked(
          id: "7", conversation: Conversation(id: "c1"), sender: Sender(id: "u1", name: "Ann"), name: "followup",
          arguments: "and then this")
        #expect(try await relay.messenger.request(command).stored)
        try await relay.killAndStart()
        await relay.messenger.waitForText("You wrote: and then this")
      }
    }

    @Test func `a plugin that exits again and again is also held back by the next daemon`() async throws {
      let config = RelayFixture.defaultConfig + "\nrestart: {firstDelayMilliseconds: 20000}\n"
      try await RelayFixture.run(config: config) { relay in
        try relay.scratch.write("crasher", "#!/bin/sh\nexit 3\n", executable: true)
        try FakeMessenger.install(relay.scratch.path + "/crasher", as: relay.home.plugins + "/crasher")
        try await relay.waitForStatus { $0.plugins.contains { $0.name == "crasher" && $0.state == .waiting } }
        try await relay.waitForStore { try await $0.backoff(of: "crasher") != nil }
        try await relay.killAndStart()
        try await relay.waitForStatus { status in
          status.plugins.contains {
            $0.name == "crasher" && $0.state == .waiting
              && $0.problem?.contains("before pi-relayd was started") == true
          }
        }
        let ends = relay.log.count { $0.contains("crasher: it ended") }
        // By hand it is started at once.
        let restart = try await relay.command("plugins", "restart", "crasher")
        #expect(restart.exit == .exited(0), "\(restart.errors)")
        try await relay.waitForLog { $0.count { $0.contains("crasher: it ended") } > ends }
      }
    }

    @Test func `a message that the last daemon stored is known to the next`() async throws {
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

    @Test func `the stored state of a plugin is returned to it`() async throws {
      try await RelayFixture.run { relay in
        _ = try await relay.messenger.request(StateSave(state: ["cursor": 7]))
        try await relay.killAndStart()
        await relay.messenger.wait { $0.generation == 2 }
        #expect(await relay.messenger.lastInitialize?.state == ["cursor": 7])
      }
    }

    @Test func `a stop keeps waiting messages, and the next start continues with them`() async throws {
      let config = RelayFixture.defaultConfig + "\nshutdown: {drainSeconds: 0}\n"
      try await RelayFixture.run(config: config) { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("later", id: "2")
        // In the session's queue by then; before that it would be found all the same, but not be counted.
        await relay.messenger.waitForText("Queued")
        let stopped = try await relay.command("stop")
        #expect(stopped.exit == .exited(0))
        let left = "fake/default: the next start continues with 1 message(s) that have not ended"
        #expect(stopped.output.contains { $0.hasSuffix("the running answer was cut short") }, "\(stopped.output)")
        #expect(stopped.output.contains(left) && relay.log.contains { $0.contains(left) })
        try await relay.start()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(
          await relay.messenger.texts().count { $0.contains("pi-relayd was stopped while the agent worked") } == 1)
      }
    }

    @Test(arguments: [("1", MessageSettled.Outcome.failed), ("2", .stopped)])
    func `the person is asked about a message that the agent may have taken`(
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

    @Test func `a follow-up is recovered without its command`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/followup and then this", id: "2")
        await relay.messenger.waitForText("Queued")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts(role: .answer).contains { $0.hasPrefix("You wrote: and then this") })
      }
    }

    @Test func `half a line at the end of the session's file is cut off before the agent continues`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        let file = try #require(try await relay.status().sessions.first?.sessionFile)
        _ = await relay.stop()
        let whole = try #require(FileManager.default.contents(atPath: file))
        try (whole + Data(#"{"type":"message","id":"#.utf8)).write(to: URL(filePath: file))
        try await relay.start()
        try await relay.messenger.say("again", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        let after = try #require(FileManager.default.contents(atPath: file))
        #expect(after.starts(with: whole) && after.count > whole.count)
        for line in after.split(separator: 0x0A) {
          #expect(throws: Never.self) { try JSONCoding.decode(JSONValue.self, from: Array(line)) }
        }
      }
    }

    @Test func `a message that was dropped with its session is not run by the next daemon`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("dropped", id: "2")
        await relay.messenger.waitForText("Queued")
        // From now on nothing of what is shown is acknowledged: the conversation does not get to the end of it.
        await relay.messenger.swallowAnswers(1_000)
        try await relay.messenger.say("/close", id: "3")
        try await relay.waitForStore { try await $0.sessions().isEmpty }
        await relay.messenger.swallowAnswers(0)
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "2") == .stopped)
        #expect(await relay.messenger.texts(role: .answer).allSatisfy { !$0.hasPrefix("You wrote: dropped") })
      }
    }

    @Test func `leftover processes of an earlier daemon are killed before the session continues`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let session = try #require(try await relay.status().sessions.first).id
        _ = await relay.stop()
        let (left, pipes) = try ChildProcess.spawn(
          .init(
            name: "left", path: "/bin/sleep", arguments: ["1000"], environment: ["PI_RELAY_SESSION": session]),
          guardian: nil)
        defer { kill(left.pid, SIGKILL) }
        for descriptor in [pipes.input, pipes.output, pipes.error] { close(descriptor) }
        try await relay.start()
        try await relay.messenger.say("more", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(left.hasEnded)
      }
    }

    @Test func `a command that was carried out is not carried out again`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "0")
        _ = await relay.messenger.waitForOutcome(of: "0")
        // Done, but its answer's receipt is lost: the command has not ended when the daemon does.
        await relay.messenger.swallowAnswers(1)
        try await relay.messenger.say("/new second", id: "1")
        await relay.messenger.waitForText("New session second")
        try await relay.killAndStart()
        try await relay.messenger.say("/sessions", id: "2")
        await relay.messenger.waitForText("Sessions (2)")
        #expect(await relay.messenger.texts().count { $0.contains("New session second") } == 1)
      }
    }

    @Test func `messages written before the conversation chose another session stay with the first`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "0")
        _ = await relay.messenger.waitForOutcome(of: "0")
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("for the first", id: "2")
        try await relay.messenger.say("/new second", id: "3")
        _ = await relay.messenger.waitForOutcome(of: "3")
        try await relay.killAndStart()
        // Nobody watches the first session any more, and the outcome of its messages is reported all the same.
        await relay.messenger.waitForText("pi-relayd was restarted while the agent worked on")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
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
