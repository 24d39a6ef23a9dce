import ProcessSupervision
import RelayHome
import RelayJSON
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// The command, buttons, menus, forms and shortcuts of Slack, by the real plugin, and its set-up.
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct SlackInteractionTests {
    private func use(_ text: String, in channel: String, by user: String = Slack.ann, at slack: PythonServer) throws {
      try Slack.tell(
        ["do": "command", "text": .string(text), "channel": .string(channel), "user": .string(user)], slack)
    }

    @Test func `a command is answered in direct messages, and in a channel for that person alone`() async throws {
      try await Slack.run { slack, _ in
        try use("status", in: Slack.direct, at: slack)
        let first = try #require(await Slack.waitForText("There is no session here yet", at: slack))
        #expect(first.first("There is no session here yet")?.isPrivate == false)
        try use("", in: Slack.general, at: slack)
        let second = try #require(await Slack.waitForText("Write to the agent", at: slack))
        #expect(second.first("Write to the agent")?.isPrivate == true)
        // Where the bot is not at home it concerns the direct messages.
        try use("/status", in: "D9ELSE", at: slack)
        await Slack.wait(at: slack) { $0.count("There is no session here yet") == 2 }
        try use("status", in: Slack.general, by: Slack.stranger, at: slack)
        let last = try #require(await Slack.waitForText("Not authorized.", at: slack))
        #expect(last.first("Not authorized.")?.isPrivate == true)
      }
    }

    @Test func `a question is answered by a button, by a menu, by a form and by words`() async throws {
      try await Slack.run { slack, _ in
        try Slack.say("/confirm", to: slack)
        let asked = try #require(await Slack.wait(at: slack) { $0.first("Reply yes or no")?.buttons.count == 2 })
        let question = try #require(asked.first("Reply yes or no"))
        try Slack.press(question.buttons[0].id, of: question, by: Slack.stranger, at: slack)
        await Slack.waitForText("Not authorized.", at: slack)
        try Slack.press(question.buttons[0].id, of: question, at: slack)
        let answered = try #require(await Slack.wait(at: slack) { $0.first("Clear the cache? — yes") != nil })
        #expect(answered.first("Clear the cache? — yes")?.id == question.id)
        #expect(answered.first("Clear the cache? — yes")?.buttons.isEmpty == true)

        try Slack.say("/editor", to: slack)
        let wanted = try #require(await Slack.wait(at: slack) { $0.first("Edit the note")?.buttons.count == 1 })
        let form = try #require(wanted.first("Edit the note"))
        try Slack.press(form.buttons[0].id, of: form, at: slack)
        let opened = try #require(await Slack.wait(at: slack) { !$0.all("form").isEmpty })
        #expect(opened.all("form").first?["prefill"] == "First line\nSecond line")
        try Slack.tell(["do": "submit", "text": "Third line"], slack)
        await Slack.waitForText("Third line", at: slack)

        try Slack.say("/input", to: slack)
        await Slack.wait(at: slack) { $0.first("What is your name?") != nil }
        try Slack.say("Ada", to: slack)
        await Slack.wait(at: slack) { $0.count("Ada") > 0 }
      }
    }

    @Test func `an answer is stopped, and begins again in a thread of its own`() async throws {
      let root = try TemporaryFolder()
      try await Slack.run(sessions: "roots: [\(root.path)]") { slack, _ in
        try Slack.say("/slow 200", to: slack)
        await Slack.waitForText("The quick", at: slack)
        try Slack.say("!stop", to: slack)
        await Slack.waitForText("⏹ Stopped.", at: slack)
        try Slack.say("/spawn fixes --in \(root.path) -- /table", channel: Slack.general, mention: true, to: slack)
        let ledger = try #require(await Slack.wait(at: slack) { $0.first("Session fixes in") != nil })
        let note = try #require(ledger.first("Session fixes in"))
        #expect(ledger.texts.contains { $0.id == note.thread && $0.text.contains("fixes") })
      }
    }

    @Test func `shortcuts show the sessions and hand a message to the agent`() async throws {
      try await Slack.run { slack, _ in
        try Slack.tell(["do": "shortcut", "callback_id": "command:status"], slack)
        await Slack.waitForText("There is no session here yet", at: slack)
        try Slack.say("of Bob's", ts: "1900000000.000009", by: Slack.stranger, channel: "G0PRIV", to: slack)
        try Slack.tell(
          ["do": "shortcut", "callback_id": "ask", "channel": "G0PRIV", "ts": "1900000000.000009"], slack)
        await Slack.waitForText("of Bob's", at: slack)
      }
    }

    @Test func `a set-up shows the manifest, tries both tokens, names missing scopes and pairs by a code`() async throws
    {
      try await PythonServer.run("fake-slack", with: PythonServer.python) { slack in
        try await RelayFixture.run(config: "# mine\n", startsDaemon: false) { relay in
          try Slack.tell(["do": "scopes", "without": ["reactions:write"]], slack)
          let api = "api=\(Slack.api(slack))"
          let questions = try await relay.converse("setup", "slack", "--set", api) { line, answer in
            switch line {
            case let line where line.hasPrefix("The app-level token"): answer("xapp-the-token")
            case let line where line.hasPrefix("The bot's token"): answer("\"xoxb-the-token\"")
            case let line where line.hasPrefix("The app lacks the scopes reactions:write"):
              try? Slack.tell(["do": "scopes", "without": []], slack)
              answer("")
            case let line where line.hasPrefix("4.") || line.hasPrefix("5."): answer("")
            case let line where line.hasPrefix("Write this to the bot"):
              try? Slack.say(line.split(separator: " ").last.map(String.init) ?? "", to: slack)
            default: break
            }
          }
          #expect(questions.exit == .exited(0), "\(questions.output) \(questions.errors)")
          let said = questions.output.joined(separator: "\n")
          #expect(said.contains("\"socket_mode_enabled\":true") && said.contains("\"command\":\"/pi\""))
          #expect(said.contains("That was Ann (\(Slack.ann))") && !said.contains("the-token"))
          let text = try relay.configuration
          #expect(text.contains("# mine") && !text.contains("the-token"), "\(text)")
          try await relay.start()
          await Slack.wait(at: slack) { $0.all("connected").count > 1 }
          try Slack.say("hello", to: slack)
          await Slack.waitForText("You wrote: hello", at: slack)
          let doctor = try await relay.command("doctor").output.joined(separator: "\n")
          #expect(doctor.contains("Socket Mode is on") && doctor.contains("all scopes are there"), "\(doctor)")
        }
      }
    }
  }
}
