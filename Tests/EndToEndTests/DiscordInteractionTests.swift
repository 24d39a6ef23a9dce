import ControlServer
import FoundationEssentials
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// Commands, buttons, select menus and forms, by the real plugin.
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct DiscordInteractionTests {
    @Test func `commands are registered in the server and for direct messages, and again only when they differ`()
      async throws
    {
      try await Discord.run { discord, relay in
        let ledger = try #require(await Discord.wait(at: discord) { $0.all("registered").count == 2 })
        let places = ledger.all("registered").map { $0["guild"]?.stringValue ?? "direct" }
        #expect(Set(places) == ["direct", Discord.guild])
        guard case .array(let names)? = ledger.all("registered").first?["names"] else { return }
        let wanted: Set = [
          "sessions", "use", "new", "spawn", "status", "stop", "abort", "model", "compact", "name", "help",
        ]
        #expect(wanted.isSubset(of: Set(names.compactMap(\.stringValue))))
        try await relay.crash("discord/default")
        // A command used while no bot is connected reaches none, unless a session can be resumed.
        _ = await Discord.wait(at: discord) { $0.identifies + $0.resumes == 2 }
        try Discord.use("status", at: discord)
        await Discord.waitForText("There is no session here yet", at: discord)
        #expect(DiscordLedger(discord.printed).all("registered").count == 2)
      }
    }

    @Test func `a command is acknowledged at once and answered in its place, in a server for that person alone`()
      async throws
    {
      try await Discord.run { discord, _ in
        try Discord.use("status", at: discord)
        await Discord.waitForText("There is no session here yet", at: discord)
        try Discord.use("help", channel: Discord.general, at: discord)
        let ledger = try #require(await Discord.waitForText("Write to the agent", at: discord))
        #expect(ledger.all("callback").allSatisfy { $0["type"] == 5 })
        #expect(ledger.first("There is no session here yet")?.isPrivate == false)
        #expect(ledger.first("Write to the agent")?.isPrivate == true)
        #expect(ledger.pings == 0)
      }
    }

    @Test func `a command without an answer is completed all the same`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/slow 200", to: discord)
        await Discord.waitForText("The quick", at: discord)
        try Discord.use("stop", at: discord)
        await Discord.waitForText("✓ Done.", at: discord)
        await Discord.waitForText("⏹ Stopped.", at: discord)
      }
    }

    @Test func `strangers are refused by command, button, form and completion`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/confirm", to: discord)
        let asked = try #require(await Discord.wait(at: discord) { $0.first("Reply yes or no") != nil })
        let question = try #require(asked.first("Reply yes or no"))
        try Discord.use("sessions", by: Discord.stranger, channel: Discord.general, at: discord)
        await Discord.waitForText("Not authorized.", at: discord)
        try Discord.press(question.buttons[0].id, of: question.id, by: Discord.stranger, at: discord)
        _ = await Discord.wait(at: discord) { $0.texts.count { $0.text == "Not authorized." } == 2 }
        try Discord.interact(
          5, ["custom_id": .string("form:" + question.buttons[0].id.prefix(10)), "components": []],
          by: Discord.stranger, at: discord)
        _ = await Discord.wait(at: discord) { $0.texts.count { $0.text == "Not authorized." } == 3 }
        try Discord.interact(
          4, ["name": "use", "options": [["name": "text", "value": "", "focused": true]]], by: Discord.stranger,
          channel: Discord.general, at: discord)
        let ledger = try #require(await Discord.wait(at: discord) { !$0.all("choices").isEmpty })
        #expect(ledger.all("choices").first?["names"] == [])
        #expect(ledger.texts.filter { $0.text == "Not authorized." }.count { $0.isPrivate } == 1)
        #expect(ledger.first("Reply yes or no") != nil, "the question is still open")
      }
    }

    @Test func `sessions are chosen by buttons that show the watched one and which are awake or asleep`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/new alpha", to: discord)
        try Discord.say("hello", to: discord)
        await Discord.waitForText("You wrote: hello", at: discord)
        try Discord.say("/new beta", to: discord)
        await Discord.waitForText("New session beta", at: discord)
        try Discord.use("sessions", at: discord)
        let listed = try #require(await Discord.waitForText("Sessions (2):", at: discord)?.first("Sessions (2):"))
        #expect(listed.buttons.map(\.label) == ["alpha", "beta", "Disconnect"])
        #expect(listed.buttons.map(\.style) == [1, 3, 4])
        #expect(listed.buttons.allSatisfy { $0.id.utf8.count <= 100 })
        try Discord.press(listed.buttons[0].id, of: listed.id, at: discord)
        let chosen = try #require(await Discord.waitForText("You now talk to alpha", at: discord))
        #expect(chosen.first("You now talk to alpha")?.id == listed.id)
        #expect(chosen.first("You now talk to alpha")?.buttons.map(\.style) == [3, 2, 4])
        try Discord.say("/status", to: discord)
        await Discord.waitForText("alpha: idle", at: discord)
        try Discord.press("disconnect:", of: listed.id, at: discord)
        let left = try #require(await Discord.waitForText("You no longer talk to alpha", at: discord))
        #expect(left.first("You no longer talk to alpha")?.buttons.map(\.label) == ["alpha", "beta"])
      }
    }

    @Test func `the bot's activity shows the watched session`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/new alpha", to: discord)
        let ledger = try #require(await Discord.wait(at: discord) { !$0.all("presence").isEmpty })
        #expect(ledger.all("presence").first?["type"] == 3)
        #expect(ledger.all("presence").first?["text"]?.stringValue?.hasPrefix("alpha") == true)
      }
    }

    @Test func `a question is answered by a button, which then shows who answered`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/select", to: discord)
        let asked = try #require(await Discord.wait(at: discord) { $0.first("Reply with a number") != nil })
        let question = try #require(asked.first("Reply with a number"))
        #expect(!question.buttons.isEmpty)
        try Discord.press(question.buttons[1].id, of: question.id, at: discord)
        let ledger = try #require(await Discord.waitForText("(ann)", at: discord))
        let settled = try #require(ledger.first("(ann)"))
        #expect(settled.id == question.id && settled.buttons.isEmpty)
        #expect(settled.text.contains(question.buttons[1].label))
        try Discord.press(question.buttons[0].id, of: question.id, at: discord)
        await Discord.waitForText("That question is already settled.", at: discord)
      }
    }

    @Test func `a question that wants text offers a form with the present text`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/editor", to: discord)
        let asked = try #require(
          await Discord.wait(at: discord) { $0.texts.contains { $0.buttons.contains { $0.label == "Answer…" } } })
        let question = try #require(asked.texts.first { !$0.buttons.isEmpty })
        try Discord.press(question.buttons[0].id, of: question.id, at: discord)
        let form = try #require(await Discord.wait(at: discord) { !$0.all("form").isEmpty }?.all("form").first)
        #expect(form["id"]?.stringValue == question.buttons[0].id)
        #expect(form["prefill"]?.stringValue?.isEmpty == false)
        let written: JSONValue = [
          "custom_id": .string(question.buttons[0].id),
          "components": [["type": 1, "components": [["type": 4, "custom_id": "text", "value": "my own words"]]]],
        ]
        try Discord.interact(5, written, message: question.id, at: discord)
        let ledger = try #require(await Discord.waitForText("my own words", at: discord))
        #expect(ledger.first("my own words")?.id == question.id)
      }
    }

    @Test func `arguments are completed while they are typed`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/new alpha", to: discord)
        try Discord.say("/new beta", to: discord)
        await Discord.waitForText("New session beta", at: discord)
        try Discord.interact(
          4, ["name": "use", "options": [["name": "text", "value": "alp", "focused": true]]], at: discord)
        let ledger = try #require(await Discord.wait(at: discord) { !$0.all("choices").isEmpty })
        #expect(ledger.all("choices").first?["names"] == ["alpha"])
      }
    }

    @Test func `a command used in another channel concerns the person's direct messages`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/new alpha", to: discord)
        await Discord.waitForText("New session alpha", at: discord)
        try Discord.use("sessions", channel: Discord.other, at: discord)
        let listed = try #require(await Discord.waitForText("Sessions (1):", at: discord)?.first("Sessions (1):"))
        #expect(listed.isPrivate && listed.channel == Discord.other)
        #expect(listed.buttons.first?.style == 3)
        try Discord.press("disconnect:", of: listed.id, channel: Discord.other, at: discord)
        let ledger = try #require(await Discord.waitForText("You no longer talk to alpha", at: discord))
        #expect(ledger.first("You no longer talk to alpha")?.id == listed.id)
      }
    }

    @Test func `an interaction that has expired neither silences the bot nor makes a private answer public`()
      async throws
    {
      try await Discord.run { discord, _ in
        try Discord.say("/new alpha", to: discord)
        await Discord.waitForText("New session alpha", at: discord)
        try discord.tell(#"{"do": "expire"}"#)
        try Discord.use("sessions", at: discord)
        // Direct messages are private anyway.
        await Discord.waitForText("Sessions (1):", at: discord)
        try Discord.use("sessions", channel: Discord.general, at: discord)
        await Discord.waitForText("came too late to be shown to you alone", at: discord)
        try Discord.say("hello", to: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: hello", at: discord))
        #expect(ledger.texts.filter { $0.channel == Discord.general }.allSatisfy { !$0.text.contains("alpha") })
      }
    }

    @Test func `an interaction that another machine answered is not handled here`() async throws {
      try await Discord.run { discord, relay in
        let command: JSONValue = [
          "type": 2, "channel_id": .string(Discord.direct), "user": ["id": .string(Discord.ann), "username": "ann"],
          "data": ["id": "1", "name": "new", "type": 1, "options": [["name": "text", "type": 3, "value": "gamma"]]],
        ]
        try Discord.tell(["do": "interact", "interaction": command, "taken": true], discord)
        try Discord.say("hello", to: discord)
        await Discord.waitForText("You wrote: hello", at: discord)
        #expect(try await relay.status().sessions.contains { $0.name == "gamma" } == false)
      }
    }

    @Test(arguments: ["", "dms: false"])
    func `a machine with channels has commands in their servers, and leaves the rest to another machine`(
      setting: String
    ) async throws {
      try await Discord.run(setting) { discord, relay in
        try Discord.say("unheard", to: discord)
        try Discord.use("status", at: discord)
        try Discord.use("status", channel: Discord.other, at: discord)
        try Discord.use("status", channel: Discord.general, at: discord)
        let ledger = try #require(await Discord.waitForText("There is no session here yet", at: discord))
        #expect(ledger.all("callback").count == 1)
        #expect(ledger.first("unheard") == nil)
        let registered = try #require(await Discord.wait(at: discord) { !$0.all("registered").isEmpty })
        #expect(registered.all("registered").map { $0["guild"]?.stringValue } == [Discord.guild])
        // The next process finds the server by the channel, and the commands registered.
        try await relay.crash("discord/default")
        try Discord.use("help", channel: Discord.general, at: discord)
        let next = try #require(await Discord.waitForText("Write to the agent", at: discord))
        #expect(next.all("registered").count == 1)
      }
    }
  }
}
