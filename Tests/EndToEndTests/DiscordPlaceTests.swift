import ControlServer
import FoundationEssentials
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// Channels, threads, files and what was missed, by the real plugin.
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct DiscordPlaceTests {
    /// Settings for a daemon that is started beside a Discord which is there already.
    private static func config(_ discord: PythonServer) -> String {
      """
      messengers:
        discord:
          default:
            token: the-token
            api: http://127.0.0.1:\(discord.ports[1])
            auth: {users: ["\(Discord.ann)"]}

      """
    }

    @Test func `a channel talks to the machine's main session, and a spawned thread to its own`() async throws {
      let root = FileManager.default.temporaryDirectory.path + "/pr-root-\(UUID().uuidString.prefix(8))"
      try FileManager.default.createDirectory(atPath: root + "/project", withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: root) }
      try await Discord.run(top: "machine: {name: bench}", sessions: "roots: [\(root)]") { discord, relay in
        try Discord.say("hello all", isGuild: true, channel: Discord.general, to: discord)
        await Discord.waitForText("You wrote: [Ann]: hello all", at: discord)
        try Discord.use("spawn", "--in /etc", channel: Discord.general, at: discord)
        await Discord.waitForText("/etc is not among the folders", at: discord)
        try Discord.use(
          "spawn", "fixes --in \(root)/project -- look at this", channel: Discord.general, at: discord)
        let begun = try #require(await Discord.waitForText("look at this", at: discord))
        let thread = try #require(begun.all("thread").first?["id"]?.stringValue)
        #expect(begun.first("Session fixes in \(root)/project on bench")?.channel == thread)
        #expect(begun.first("look at this")?.channel == thread)
        try Discord.say("and this", isGuild: true, channel: thread, to: discord)
        await Discord.waitForText("[Ann]: and this", at: discord)
        let sessions = try await relay.status().sessions.map(\.name)
        #expect(Set(sessions) == ["bench", "fixes"])
        try Discord.tell(["do": "thread", "id": .string(thread), "archived": true], discord)
        try await relay.waitForStatus { $0.sessions.contains { $0.name == "fixes" && $0.activity == .asleep } }
        try Discord.tell(["do": "thread", "id": .string(thread), "archived": false], discord)
        try Discord.say("again", isGuild: true, channel: thread, to: discord)
        await Discord.waitForText("[Ann]: again", at: discord)
        try Discord.tell(["do": "thread", "id": .string(thread), "deleted": true], discord)
        try await relay.waitForStatus { !$0.sessions.contains { $0.name == "fixes" } }
      }
    }

    @Test func `the assistant answers wherever it is mentioned or replied to, and nowhere else in servers`()
      async throws
    {
      let bot = "900000000000000001"
      let config = "mentions: true\nconversations: {channel: {use: assistant}}"
      try await Discord.run(config, top: "assistant: {sessionTimeoutSeconds: 600}") { discord, relay in
        func say(_ text: String, _ more: [String: JSONValue]) throws {
          try Discord.say(text, isGuild: true, channel: Discord.other, with: more, to: discord)
        }
        let mention: [String: JSONValue] = ["mentions": [["id": .string(bot), "username": "relay"]]]
        try say("talk among ourselves", [:])
        try say("<@\(bot)> what is the time?", mention)
        await Discord.waitForText("]: what is the time?", at: discord)
        // A resumed session does not tell the bot who it is.
        try await relay.crash("discord/default")
        try say("and the date, <@\(bot)>?", mention)
        await Discord.waitForText("]: and the date, ?", at: discord)
        try say("more talk", [:])
        try say(
          "thanks",
          ["referenced_message": ["id": "1", "content": "words", "author": ["id": .string(bot), "bot": true]]])
        let ledger = try #require(await Discord.waitForText("]: thanks", at: discord))
        #expect(ledger.first("talk") == nil)
      }
    }

    @Test func `messages written while no session was open are fetched, oldest first, and no earlier ones`()
      async throws
    {
      try await Discord.run { discord, _ in
        try Discord.say("first", to: discord)
        try Discord.say("in the channel", isGuild: true, channel: Discord.general, to: discord)
        await Discord.waitForText("You wrote: first", at: discord)
        await Discord.waitForText("You wrote: [Ann]: in the channel", at: discord)
        try discord.tell(#"{"do": "invalidate"}"#)
        try discord.tell(#"{"do": "drop"}"#)
        try Discord.say("second", to: discord)
        try Discord.say("third", to: discord)
        try Discord.say("in the channel, too", isGuild: true, channel: Discord.general, to: discord)
        await Discord.waitForText("You wrote: third", at: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: [Ann]: in the channel, too", at: discord))
        #expect(ledger.identifies == 2)
        let answers = ledger.texts.filter { $0.channel == Discord.direct && $0.text.hasPrefix("You wrote") }
        let first = answers.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(first == ["You wrote: first", "You wrote: second", "You wrote: third"])
      }
    }

    /// Two earlier messages, in the direct messages and the channel, so that both have been seen.
    private func sayBefore(_ discord: PythonServer) async throws {
      try Discord.say("first", to: discord)
      try Discord.say("in the channel", isGuild: true, channel: Discord.general, to: discord)
      await Discord.waitForText("You wrote: first", at: discord)
      await Discord.waitForText("You wrote: [Ann]: in the channel", at: discord)
    }

    private func breakOff(_ discord: PythonServer) throws {
      try discord.tell(#"{"do": "invalidate"}"#)
      try discord.tell(#"{"do": "drop"}"#)
    }

    @Test func `a plugin that is killed while it fetches missed messages fetches them after its restart`() async throws
    {
      try await Discord.run { discord, relay in
        try await sayBefore(discord)
        try discord.tell(#"{"do": "history", "seconds": 0.7}"#)
        try breakOff(discord)
        try Discord.say("second", to: discord)
        try Discord.say("and here", isGuild: true, channel: Discord.general, to: discord)
        // One of the two is stored, and the other is being fetched.
        _ = await Discord.wait(at: discord) { $0.all("reacted").count == 3 }
        try await relay.crash("discord/default")
        await Discord.waitForText("You wrote: second", at: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: [Ann]: and here", at: discord))
        // Once; if the kill fell between the answer and its receipt, a second time with the mark.
        #expect(ledger.texts.count { $0.text.hasPrefix("You wrote: second") } <= 1)
        #expect(ledger.texts.count { $0.text.hasPrefix("(possible repeat) You wrote: second") } <= 1)
      }
    }

    @Test func `the bot is not shown as healthy before it has fetched the missed messages`() async throws {
      try await Discord.run { discord, relay in
        try await sayBefore(discord)
        try await relay.waitForStatus { $0.plugins.first { $0.name == "discord/default" }?.problem == nil }
        try discord.tell(#"{"do": "history", "seconds": 0.3}"#)
        let asked = DiscordLedger(discord.printed).all("asked for history").count
        try breakOff(discord)
        try Discord.say("second", to: discord)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("are being fetched from Discord") == true }
        }
        try await relay.waitForStatus { $0.plugins.first { $0.name == "discord/default" }?.problem == nil }
        let channels = DiscordLedger(discord.printed).all("asked for history").dropFirst(asked)
        #expect(Set(channels.map { $0["channel"]?.stringValue }) == [Discord.direct, Discord.general])
        await Discord.waitForText("You wrote: second", at: discord)
      }
    }

    @Test func `the bot is not shown as healthy before it is connected`() async throws {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        try discord.tell(#"{"do": "silence", "on": true}"#)
        try await RelayFixture.run(config: Self.config(discord)) { relay in
          let status = try await relay.waitForStatus { status in
            status.plugins.contains { $0.name == "discord/default" && $0.state == .running }
          }
          let problem = status.plugins.first { $0.name == "discord/default" }?.problem
          #expect(problem == "the bot is not connected to Discord yet")
          let doctor = try await relay.command("doctor").output
          #expect(doctor.contains { $0.hasPrefix("✗ plugin discord/default: impaired — ") }, "\(doctor)")
          try discord.tell(#"{"do": "silence", "on": false}"#)
          try await relay.waitForStatus { $0.plugins.first { $0.name == "discord/default" }?.problem == nil }
          #expect(DiscordLedger(discord.printed).identifies == 1)
        }
      }
    }

    @Test func `messages that cannot be fetched at once are fetched later, also those of a new thread`()
      async throws
    {
      try await Discord.run { discord, _ in
        // One thread exists before, without a message in it.
        try Discord.tell(["do": "begin", "parent": .string(Discord.general), "name": "early"], discord)
        let early = try #require(await Discord.wait(at: discord) { !$0.all("thread").isEmpty })
        let quiet = try #require(early.all("thread").first?["id"]?.stringValue)
        try await sayBefore(discord)
        try discord.tell(#"{"do": "history", "failures": [500, 502, 503, 502, 504, 502, 502]}"#)
        try breakOff(discord)
        try Discord.say("second", to: discord)
        try Discord.tell(["do": "begin", "parent": .string(Discord.general), "name": "aside"], discord)
        try Discord.say("in the quiet one", isGuild: true, channel: quiet, to: discord)
        let begun = try #require(await Discord.wait(at: discord) { $0.all("thread").count == 2 })
        let thread = try #require(begun.all("thread").last?["id"]?.stringValue)
        try Discord.say("in the thread", isGuild: true, channel: thread, to: discord)
        try Discord.say("afterwards", isGuild: true, channel: Discord.general, to: discord)
        await Discord.waitForText("You wrote: second", at: discord)
        await Discord.waitForText("[Ann]: afterwards", at: discord)
        await Discord.waitForText("[Ann]: in the quiet one", at: discord)
        let ledger = try #require(await Discord.waitForText("[Ann]: in the thread", at: discord))
        #expect(ledger.first("[Ann]: in the thread")?.channel == thread)
      }
    }

    @Test func `a channel that is named later misses nothing of the first outage, and replays nothing earlier`()
      async throws
    {
      try await Discord.run { discord, relay in
        try Discord.say("long ago", isGuild: true, channel: Discord.other, to: discord)
        try await sayBefore(discord)
        let text = try relay.configuration.replacing(
          "[\"\(Discord.general)\"]", with: "[\"\(Discord.general)\", \"\(Discord.other)\"]")
        try Data(text.utf8).write(to: URL(filePath: relay.home.path + "/relay.yaml"))
        #expect(try await relay.command("reload").exit == .exited(0))
        _ = await Discord.wait(at: discord) { $0.resumes == 1 }
        // The plugin handles events in order: after this one it knows the channel's last message.
        try Discord.say("resumed", to: discord)
        await Discord.waitForText("You wrote: resumed", at: discord)
        try breakOff(discord)
        try Discord.say("meanwhile", isGuild: true, channel: Discord.other, to: discord)
        let ledger = try #require(await Discord.waitForText("[Ann]: meanwhile", at: discord))
        #expect(ledger.first("long ago") == nil)
      }
    }

    @Test func `a fresh start replays no earlier messages`() async throws {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        try Discord.say("long ago", isGuild: true, channel: Discord.general, to: discord)
        let channels = "      channels: [\"\(Discord.general)\"]\n"
        try await RelayFixture.run(config: Self.config(discord) + channels) { _ in
          _ = await Discord.wait(at: discord) { $0.identifies > 0 }
          try Discord.say("now", isGuild: true, channel: Discord.general, to: discord)
          let ledger = try #require(await Discord.waitForText("now", at: discord))
          #expect(ledger.first("long ago") == nil)
        }
      }
    }

    @Test func `a file goes to the agent, and an image of a tool comes back as an image`() async throws {
      try await Discord.run(
        "dms: true\nimages: automatic", top: "plugins: {attachments: {allowPrivateAddresses: true}}"
      ) { discord, _ in
        try discord.tell(#"{"do": "file", "id": "f1", "text": "the secret is 42"}"#)
        let file: JSONValue = [
          "id": "f1", "filename": "notes.txt", "size": 16, "content_type": "text/plain",
          "url": .string("http://127.0.0.1:\(discord.ports[1])/files/f1/notes.txt"),
        ]
        try Discord.say("read this", with: ["attachments": [file]], to: discord)
        await Discord.waitForText("the secret is 42", at: discord)
        try Discord.say("/image", to: discord)
        let ledger = try #require(await Discord.wait(at: discord) { $0.texts.contains { !$0.files.isEmpty } })
        #expect(ledger.texts.flatMap(\.files).count == 1)
      }
    }

    @Test func `an answer of many messages comes also as a file`() async throws {
      try await Discord.run { discord, _ in
        try discord.tell(#"{"do": "limit", "count": 50, "seconds": 0.2}"#)
        try Discord.say("/long 2200", to: discord)
        let ledger = try #require(
          await Discord.wait(at: discord) { $0.texts.contains { $0.files == ["answer.md"] } })
        #expect(ledger.texts.count { $0.files.isEmpty } > 5)
      }
    }

    @Test func `a message is marked once it is stored, and also once it is answered if configured`()
      async throws
    {
      try await Discord.run("dms: true\nreactions: {answered: ✅}") { discord, _ in
        try Discord.say("hello", id: "123", to: discord)
        let ledger = try #require(await Discord.wait(at: discord) { $0.all("reacted").count == 2 })
        #expect(ledger.all("reacted").map { $0["reaction"]?.stringValue } == ["👀", "✅"])
        #expect(ledger.all("reacted").allSatisfy { $0["id"] == "123" })
      }
    }

    @Test func `in a conversation for control a session is chosen first, and text is passed as typed`() async throws {
      try await Discord.run("dms: true\nconversations: {dm: {use: control}}") { discord, _ in
        try Discord.say("anybody?", to: discord)
        await Discord.waitForText("You talk to no session yet", at: discord)
        try Discord.say("/new alpha", to: discord)
        let quoted: JSONValue = ["id": "5", "content": "another's words", "author": ["id": "7", "username": "bob"]]
        try Discord.say("hello", with: ["referenced_message": quoted], to: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: hello", at: discord))
        #expect(ledger.first("You wrote: hello")?.text.contains("another's words") == false)
      }
    }
  }
}
