import ControlServer
import Glibc
import ProcessSupervision
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Situations in which only the person can decide: a silent agent, a message whose agent does not start, a message that
  /// the agent has forgotten.
  @Suite struct DecisionTests {
    private func pid(_ relay: RelayFixture) async throws -> Int32 {
      try #require(try await relay.status().sessions.first?.pid)
    }

    // MARK: - Silence

    @Test func `a silent agent is reported to the person, who stops the run, and other messages wait`() async throws {
      try await RelayFixture.run(sessions: "silenceTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/hang", id: "1")
        await relay.messenger.waitForText("The agent has said nothing for")
        await relay.messenger.waitForText("Its process answers")
        // No answer to the question, so a message like any other.
        try await relay.messenger.say("and then this", id: "2")
        await relay.messenger.waitForText("Queued")
        try await relay.messenger.say("2", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }

    @Test func `an agent that streams is not called silent, however long the daemon has been running`() async throws {
      try await RelayFixture.run(sessions: "silenceTimeoutSeconds: 1") { relay in
        // The time itself is the point: silence must not be counted from the start of a daemon, whose clock is real.
        try await relay.waitForStatus { $0.uptime >= 3 }
        try await relay.messenger.say("/slow 60", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("has said nothing") })
      }
    }

    @Test func `an agent whose process was stopped is reported, and the question closes when the agent ends`()
      async throws
    {
      try await RelayFixture.run(sessions: "silenceTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/slow 60", id: "1")
        await relay.messenger.waitForText("The quick")
        let agent = try await pid(relay)
        kill(agent, SIGSTOP)
        await relay.messenger.waitForText("Its process does not answer")
        kill(agent, SIGCONT)
        await relay.messenger.waitForText("the agent goes on")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        // Nothing was done unasked.
        #expect(try await pid(relay) == agent)
      }
    }

    @Test func `a silent agent is restarted by the person's choice and the session continues`() async throws {
      try await RelayFixture.run(sessions: "silenceTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say("/hang", id: "2")
        await relay.messenger.waitForText("The agent has said nothing for")
        let agent = try await pid(relay)
        try await relay.messenger.say("3", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        await relay.messenger.waitForText("The session goes on with your next message")
        try await waitForEnd(of: agent)
        try await relay.messenger.say("still there?", id: "4")
        #expect(await relay.messenger.waitForOutcome(of: "4") == .answered)
      }
    }

    @Test func `an answer of the agent to the relay's own question does not withdraw the question of silence`()
      async throws
    {
      try await RelayFixture.run(sessions: "silenceTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/hang", id: "1")
        await relay.messenger.waitForText("The agent has said nothing for")
        try await relay.messenger.say("/status", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .handled)
        // The question still stops the run.
        try await relay.messenger.say("2", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("the agent goes on") })
      }
    }

    @Test func `the question about a silent agent is asked again by the program after an upgrade`() async throws {
      try await RelayFixture.run(sessions: "silenceTimeoutSeconds: 2") { relay in
        try await relay.messenger.say("/hang", id: "1")
        await relay.messenger.waitForText("The agent has said nothing for")
        #expect(try await relay.command("upgrade").exit == .exited(0))
        await relay.messenger.waitForText("pi-relayd was upgraded")
        await relay.messenger.wait { $0.questions.contains { $0.text.contains("has said nothing for") } }
        try await relay.messenger.say("2", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
      }
    }

    // MARK: - A message that waits for a decision

    @Test func `messages behind one whose agent does not start wait, and the person is told how many`() async throws {
      try await RelayFixture.run(isOldAgent: true) { relay in
        let agent = relay.scratch.path + "/old-agent"
        rename(agent, agent + ".away")
        try await relay.messenger.say("first", id: "1")
        await relay.messenger.waitForText("The message waits, because")
        try await relay.messenger.say("second", id: "2")
        await relay.messenger.waitForText("2 messages wait until the question above is decided")
        try await relay.messenger.say("third", id: "3")
        await relay.messenger.waitForText("3 messages wait")
        rename(agent + ".away", agent)
        try await relay.messenger.say("try again", id: "4")
        for id in ["1", "2", "3"] { #expect(await relay.messenger.waitForOutcome(of: id) == .answered) }
        #expect(await relay.messenger.outcomes["4"] == .handled)
      }
    }

    @Test func `the reason of a failed start is its first error and names the log`() async throws {
      try await RelayFixture.run(isOldAgent: true) { relay in
        _ = try relay.scratch.write(
          "old-agent",
          """
          #!/bin/sh
          [ "$1" = --help ] && exec echo '--session FILE'
          echo "Warning: No project session found with id 'x'; creating a new session with that id." >&2
          printf 'Error: Unknown provider nope\\nChoose one of: a, b\\nthird\\nfourth\\n' >&2
          exit 1

          """, executable: true)
        try await relay.messenger.say("hello", id: "1")
        await relay.messenger.waitForText("The message waits, because")
        let text = try #require(await relay.messenger.questions.last?.text)
        #expect(text.contains("Error: Unknown provider nope\nChoose one of: a, b\nthird\n"))
        #expect(!text.contains("No project session") && !text.contains("fourth"))
        #expect(text.contains("pi-relayd logs session-"))
      }
    }

    /// The leftovers of an agent are found by the session's mark, which its next agent carries too.
    @Test func `the end of an agent's leftover processes never reaches the session's next agent`() async throws {
      try await RelayFixture.run(isOldAgent: true) { relay in
        _ = try relay.scratch.write(
          "old-agent", "#!/bin/sh\n[ \"$1\" = --help ] && exec echo '--session FILE'\nsleep 0.01\nexit 7\n",
          executable: true)
        try await relay.messenger.say("hello", id: "1")
        var asked = ""
        for attempt in 1...20 {
          await relay.messenger.wait { [asked] in $0.questions.last.map { $0.id != asked } ?? false }
          let question = try #require(await relay.messenger.questions.last)
          #expect(question.text.contains("(exit code 7)"), "\(question.text)")
          asked = question.id
          try await relay.messenger.say("try again", id: "try \(attempt)")
        }
      }
    }

    @Test func `a question without a limit of the agent's own expires by the setting`() async throws {
      try await RelayFixture.run(sessions: "questionTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/confirm", id: "1")
        await relay.messenger.waitForText("nobody answered within 1 s")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    // MARK: - A first turn that was cut short

    @Test func `a message of a first turn that ended before pi saved anything can be run again`() async throws {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        try await relay.messenger.say("/slow 20", id: "1")
        await relay.messenger.waitForText("The quick")
        kill(try await pid(relay), SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        await relay.messenger.waitForText("the agent remembers neither this message nor its answer")
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("The session goes on") })
        let button = try #require(await relay.messenger.messages.last { $0.buttons != nil }?.buttons?.first?.first)
        #expect(button.label == "Run again")
        try await relay.messenger.press(button.id, id: "again")
        #expect(await relay.messenger.waitForOutcome(of: "action:again") == .answered)
        // Another press of the same button is a button of the past.
        try await relay.messenger.press(button.id, id: "once more")
        await relay.messenger.waitForText("That message is already running again, or is no longer kept.")
      }
    }

    @Test func `after a restart of the daemon in a first turn the message can be run again`() async throws {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        try await relay.messenger.say("/slow 20", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.killAndStart()
        await relay.messenger.waitForText("the agent remembers neither this message nor its answer")
        let button = try #require(await relay.messenger.messages.last { $0.buttons != nil }?.buttons?.first?.first)
        try await relay.messenger.press(button.id, id: "again")
        #expect(await relay.messenger.waitForOutcome(of: "action:again") == .answered)
      }
    }

    @Test func `a message can be run again while another waits, and only once`()
      async throws
    {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        try await relay.messenger.say("/slow 20", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("second", id: "2")
        await relay.messenger.waitForText("Queued")
        kill(try await pid(relay), SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        let button = try #require(await relay.messenger.messages.last { $0.buttons != nil }?.buttons?.first?.first)
        // Both before the conversation's queue comes to the first.
        for number in 0..<20 { try await relay.messenger.say("/status", id: "s\(number)") }
        async let one: Void = relay.messenger.press(button.id, id: "a")
        async let other: Void = relay.messenger.press(button.id, id: "b")
        _ = try await (one, other)
        var outcomes: [MessageSettled.Outcome?] = []
        for id in ["action:a", "action:b"] { outcomes.append(await relay.messenger.waitForOutcome(of: id)) }
        #expect(Set(outcomes) == [.answered, .handled])
      }
    }

    @Test func `a session that is stored elsewhere is not called forgotten`() async throws {
      let folder = try TemporaryFolder()
      try await RelayFixture.run(agent: ["--session-dir", folder.path], capabilities: FakeMessenger.withButtons) {
        relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say("/slow 20", id: "2")
        await relay.messenger.waitForText("The quick")
        kill(try await pid(relay), SIGKILL)
        await relay.messenger.waitForText("The session goes on with your next message")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
      }
    }

    // MARK: - Stopping and steering

    @Test func `a compaction that waits for a slot is cancelled`() async throws {
      try await RelayFixture.run(sessions: "maximum: 1") { relay in
        try await relay.messenger.say("hello", id: "1", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say("/hang", id: "2")
        try await relay.waitForStatus { status in status.sessions.contains { $0.activity == .working } }
        try await relay.messenger.say("/compact", id: "3", in: "c2")
        await relay.messenger.waitForText("/stop gives up", in: "c2")
        try await relay.messenger.say("/stop", id: "4", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "4") == .handled)
        await relay.messenger.waitForText("The compaction was stopped", in: "c2")
        #expect(await relay.messenger.texts(in: "c2").allSatisfy { !$0.contains("nothing to stop") })
      }
    }

    @Test func `a message that a killed agent may have taken is not called withdrawn while the next one starts`()
      async throws
    {
      try await RelayFixture.run(isOldAgent: true) { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let agent = try await pid(relay)
        kill(agent, SIGSTOP)
        let typing = await relay.messenger.typing.count
        try await relay.messenger.say("do it", id: "2")
        // An agent that is slow to begin: it has been given the message.
        await relay.messenger.wait { $0.typing.count > typing }
        let program = relay.scratch.path + "/old-agent"
        rename(program, program + ".away")
        kill(agent, SIGKILL)
        await relay.messenger.waitForText("The message waits, because")
        _ = try await relay.messenger.request(MessageDeleted(id: "2", conversation: Conversation(id: "c1")))
        await relay.messenger.waitForText("🗑️ Too late to withdraw")
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("message was withdrawn") })
      }
    }

    @Test func `a running compaction is stopped`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        kill(try await pid(relay), SIGSTOP)
        try await relay.messenger.say("/compact", id: "2")
        try await relay.waitForStatus { $0.sessions.first?.activity == .compacting }
        try await relay.messenger.say("/stop", id: "3")
        await relay.messenger.waitForText("The compaction was stopped")
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("nothing to stop") })
        try await relay.messenger.say("hello again", id: "4")
        #expect(await relay.messenger.waitForOutcome(of: "4") == .answered)
      }
    }

    @Test func `steering that the agent confirms late is neither withdrawn nor refused for lack of room`()
      async throws
    {
      try await RelayFixture.run(sessions: "maximumQueued: 1", pi: "answerTimeoutSeconds: 1") { relay in
        try await relay.messenger.say("/slow 60", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("afterwards", id: "2")
        await relay.messenger.waitForText("Queued")
        let agent = try await pid(relay)
        kill(agent, SIGSTOP)
        try await relay.messenger.say("/steer never mind", id: "3")
        await relay.messenger.waitForText("has not confirmed it yet")
        _ = try await relay.messenger.request(MessageDeleted(id: "3", conversation: Conversation(id: "c1")))
        await relay.messenger.waitForText("🗑️ Too late to withdraw")
        kill(agent, SIGCONT)
        // The agent had it all along.
        #expect(await relay.messenger.waitForOutcome(of: "3") == .handled)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts(role: .answer).contains { $0.contains("never mind") })
        #expect(
          await relay.messenger.texts().allSatisfy {
            !$0.contains("not taken") && !$0.contains("not accepted") && !$0.contains("withdrawn")
          })
      }
    }

    @Test func `a message that may have been taken, changed by an extension, is not said to be withdrawn or not taken`()
      async throws
    {
      let filter = #"sed -u '/"role":"user"/s/never mind/forget it/'"#
      try await RelayFixture.run(agentFilter: filter) { relay in
        try await relay.messenger.say("/slow 20", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/steer /slow 500 never mind", id: "2")
        // It follows what the agent was saying: the agent is at work on it.
        await relay.messenger.wait { $0.messages.count { $0.role == .answer } == 2 }
        _ = try await relay.messenger.request(MessageDeleted(id: "2", conversation: Conversation(id: "c1")))
        await relay.messenger.waitForText("🗑️ Too late to withdraw")
        kill(try await pid(relay), SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        await relay.messenger.waitForText("Nothing tells whether the agent took this message before you withdrew it")
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("not take") && !$0.contains("is withdrawn") })
      }
    }

    @Test func `a message that was withdrawn too late and then not taken is reported`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say("/slow 500", id: "2")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/steer never mind", id: "3")
        await relay.messenger.waitForText("↪️ The working agent has your message.")
        let agent = try await pid(relay)
        kill(agent, SIGSTOP)
        _ = try await relay.messenger.request(MessageDeleted(id: "3", conversation: Conversation(id: "c1")))
        await relay.messenger.waitForText("🗑️ Too late to withdraw")
        kill(agent, SIGKILL)
        await relay.messenger.waitForText("The agent did not take that message after all")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .stopped)
      }
    }
  }
}
