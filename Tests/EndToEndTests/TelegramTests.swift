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
  @Suite struct TelegramTests {
    @Test func `a private message at Telegram is answered as rich text, and a stranger's is not`() async throws {
      try await Telegram.run { telegram, relay in
        try Telegram.say("let me in", by: Telegram.stranger, to: telegram)
        try Telegram.say("hello", to: telegram)
        let ledger = try #require(await Telegram.waitForText("You wrote: hello", at: telegram))
        #expect(ledger.first("You wrote: hello")?.form == "rich")
        #expect(ledger.first("let me in") == nil)
        await Telegram.wait(at: telegram) { ledger in
          ledger.texts.contains { $0.text == "Not authorized." && $0.chat == Telegram.stranger }
        }
        let marked = try #require(await Telegram.wait(at: telegram) { !$0.all("reacted").isEmpty })
        #expect(marked.all("reacted").allSatisfy { $0["reaction"] == "👀" && $0["chat"] == 1_001 })
        try await relay.waitForStatus { $0.plugins.contains { $0.name == "telegram/default" && $0.problem == nil } }
        #expect(relay.log.allSatisfy { !$0.contains(Telegram.secret) })
      }
    }

    @Test func `a private answer grows as a draft, and becomes one message at its end`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.say("/slow 30", to: telegram)
        let ledger = try #require(await Telegram.wait(at: telegram) { $0.first("The quick") != nil })
        #expect(ledger.all("drafted").count >= 2)
        #expect(ledger.all("drafted").allSatisfy { $0["stops"] == true && $0["form"] == "rich" })
        #expect(Set(ledger.all("drafted").compactMap { $0["draft"]?.integerValue }).count == 1)
        #expect(ledger.all("shown").count == 1)
      }
    }

    @Test(arguments: [Telegram.group, Telegram.ann])
    func `where there are no drafts, a message grows`(chat: Int) async throws {
      try await Telegram.run("channels: [\"\(Telegram.group)\"]") { telegram, _ in
        try Telegram.tell(["do": "server", "drafts": false], telegram)
        try Telegram.say("/slow 30", in: chat, to: telegram)
        let ledger = try #require(
          await Telegram.wait(at: telegram) {
            $0.first("The quick")?.text.contains(
              "dog while the relay keeps every word in its place. The quick brown fox jumps over the lazy dog while")
              == true
          })
        #expect(ledger.texts.count == 1 && ledger.all("drafted").isEmpty)
        #expect(ledger.all("shown").count >= 3)
      }
    }

    @Test func `in groups the bot hears those that address it, and everything where the group is its own`() async throws
    {
      try await Telegram.run { telegram, _ in
        try Telegram.say("unheard", in: Telegram.group, to: telegram)
        try Telegram.say("/status@other_bot", in: Telegram.group, with: command(18), to: telegram)
        let mention: [String: JSONValue] = ["entities": [["type": "mention", "offset": 3, "length": 10]]]
        // The entity counts UTF-16 units.
        try Telegram.say("🦊 @relay_bot heard", in: Telegram.group, with: mention, to: telegram)
        let heard = try #require(await Telegram.waitForText("[Ann]: 🦊  heard", at: telegram))
        let answer = try #require(heard.first("[Ann]: 🦊"))
        try Telegram.say("/status@relay_bot", in: Telegram.group, with: command(17), to: telegram)
        await Telegram.wait(at: telegram) { $0.texts.contains { $0.text.contains("demo") && $0.id > answer.id } }
        let reply: [String: JSONValue] = [
          "reply_to_message": [
            "message_id": .integer(Int64(answer.id)), "date": 1, "text": "quoted words",
            "chat": ["id": .integer(Int64(Telegram.group)), "type": "group"],
            "from": ["id": 123_456_789, "is_bot": true, "first_name": "Relay"],
          ]
        ]
        try Telegram.say("replied", in: Telegram.group, with: reply, to: telegram)
        let ledger = try #require(await Telegram.waitForText("replied", at: telegram))
        #expect(ledger.first("replied")?.text.contains("quoted words") == true)
        #expect(ledger.first("unheard") == nil)
      }
    }

    private func command(_ length: Int) -> [String: JSONValue] {
      ["entities": [["type": "bot_command", "offset": 0, "length": .integer(Int64(length))]]]
    }

    @Test func `a waiting message is changed`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.say("/slow 20", to: telegram)
        await Telegram.wait(at: telegram) { !$0.all("drafted").isEmpty }
        try Telegram.say("first thought", to: telegram)
        let ledger = try #require(await Telegram.wait(at: telegram) { $0.all("said").count == 2 })
        try Telegram.tell(
          ["do": "edit", "id": try #require(ledger.all("said").last?["id"]), "message": ["text": "second thought"]],
          telegram)
        await Telegram.waitForText("The waiting message was replaced", at: telegram)
        let last = try #require(await Telegram.waitForText("You wrote: second thought", at: telegram))
        #expect(last.first("You wrote: first thought") == nil)
      }
    }

    @Test func `a long answer continues in further messages, and nothing of it is lost`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.say("/long 2000", to: telegram)
        let ledger = try #require(
          await Telegram.wait(at: telegram) { $0.texts.map(\.text.count).reduce(0, +) >= 10_000 })
        #expect(ledger.texts.count >= 3)
        #expect(ledger.texts.allSatisfy { $0.text.utf16.count <= 4_096 })
      }
    }

    @Test func `a text whose form Telegram refuses is shown in the next simpler form`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.tell(["do": "refuse", "form": "rich", "count": -1], telegram)
        try Telegram.say("/table", to: telegram)
        let first = try #require(await Telegram.waitForText("That is all.", at: telegram))
        #expect(first.first("That is all.")?.form == "html")
        #expect(first.first("That is all.")?.raw.contains("<b>all</b>") == true)
        #expect(first.first("That is all.")?.text.contains("relay  running") == true)
        try Telegram.tell(["do": "refuse", "form": "html", "count": -1], telegram)
        try Telegram.say("/table", to: telegram)
        let second = try #require(await Telegram.waitForText("That is **all**.", at: telegram))
        #expect(second.first("That is **all**.")?.form == "plain")
      }
    }

    @Test func `a server that knows no rich messages gets HTML, and is asked for them once`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.tell(["do": "server", "rich": false], telegram)
        try Telegram.say("one", to: telegram)
        await Telegram.waitForText("You wrote: one", at: telegram)
        try Telegram.say("two", to: telegram)
        let ledger = try #require(await Telegram.waitForText("You wrote: two", at: telegram))
        #expect(ledger.texts.allSatisfy { $0.form == "html" })
        #expect(ledger.all("unknown method").count == 1)
      }
    }

    @Test func `an answer whose receipt is lost is sent again with a mark`() async throws {
      try await Telegram.run("channels: [\"\(Telegram.group)\"]") { telegram, relay in
        for chat in [Telegram.ann, Telegram.group] {
          try Telegram.fail(with: [0], at: telegram)
          await Telegram.wait(at: telegram) { !$0.all("will fail").isEmpty }
          try Telegram.say("hello", in: chat, to: telegram)
          let ledger = try #require(
            await Telegram.wait(at: telegram) { ledger in
              ledger.texts.contains { $0.chat == chat && $0.text.hasPrefix("(possible repeat) You wrote:") }
            })
          #expect(ledger.texts.count { $0.chat == chat && $0.text.hasPrefix("You wrote:") } == 1)
        }
        try await relay.waitForStatus { $0.deliveries?.allSatisfy { $0.waiting == 0 } ?? true }
        #expect(TelegramLedger(telegram.printed).texts.count == 4)
      }
    }

    @Test(arguments: [Telegram.ann, Telegram.group], ["plugin", "kill", "stop"])
    func `a break in the middle of an answer leaves one answer, or says that it may be a repeat`(
      chat: Int, victim: String
    ) async throws {
      try await Telegram.run("channels: [\"\(Telegram.group)\"]") { telegram, relay in
        try Telegram.say("/slow 40", in: chat, to: telegram)
        await Telegram.wait(at: telegram) { ledger in
          chat == Telegram.ann ? !ledger.all("drafted").isEmpty : ledger.first("The quick") != nil
        }
        if victim == "plugin" { try await relay.crash("telegram/default") }
        if victim == "kill" { try await relay.goThrough(.kill) }
        if victim == "stop" { try await relay.goThrough(.stop) }
        try Telegram.say("done?", in: chat, to: telegram)
        await Telegram.waitForText("done?", at: telegram)
        try await relay.waitForStatus { $0.deliveries?.allSatisfy { $0.waiting == 0 } ?? true }
        let texts = TelegramLedger(telegram.printed).texts.map(\.text)
        let answers = texts.filter { $0.contains("The quick") }
        // An answer that the agent has not saved is reported as lost.
        #expect(!answers.isEmpty || victim == "kill" && texts.contains { $0.contains("was restarted while") })
        #expect(answers.count { !$0.contains("possible repeat") } <= 1, "\(texts)")
      }
    }

    @Test func `messages of an outage of Telegram are answered after it, and the answer under way is whole`()
      async throws
    {
      try await Telegram.run("graceSeconds: 1") { telegram, relay in
        try Telegram.say("/slow 20", to: telegram)
        await Telegram.wait(at: telegram) { !$0.all("drafted").isEmpty }
        try Telegram.tell(["do": "away", "on": true], telegram)
        try Telegram.say("meanwhile", to: telegram)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("Telegram cannot be reached") == true }
        }
        try Telegram.tell(["do": "away", "on": false], telegram)
        await Telegram.waitForText("You wrote: meanwhile", at: telegram)
        let ledger = try #require(
          await Telegram.wait(at: telegram) {
            $0.first("The quick")?.text.contains("place. The quick") == true
          })
        #expect(ledger.texts.count { $0.text.contains("The quick") && !$0.text.contains("repeat") } == 1)
        try await relay.waitForStatus { $0.plugins.contains { $0.name == "telegram/default" && $0.problem == nil } }
      }
    }

    @Test func `what was written while the plugin was away is answered, and nothing twice`() async throws {
      try await Telegram.run { telegram, relay in
        try Telegram.say("before", to: telegram)
        await Telegram.waitForText("You wrote: before", at: telegram)
        try await relay.crash("telegram/default")
        try Telegram.say("meanwhile", to: telegram)
        let ledger = try #require(await Telegram.waitForText("You wrote: meanwhile", at: telegram))
        #expect(ledger.texts.count { $0.text.contains("You wrote: before") } == 1)
      }
    }

    @Test func `Telegram's wait is kept, and the answer comes after it`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.fail(with: [[429, "1"]], at: telegram)
        await Telegram.wait(at: telegram) { !$0.all("will fail").isEmpty }
        try Telegram.say("hello", to: telegram)
        let ledger = try #require(await Telegram.waitForText("You wrote: hello", at: telegram))
        #expect(ledger.all("failed").count == 1)
        #expect(ledger.texts.count == 1)
      }
    }

    @Test func `another program that polls is named in the status, and the bot is well by itself afterwards`()
      async throws
    {
      try await Telegram.run("graceSeconds: 1") { telegram, relay in
        try await relay.waitForStatus { $0.plugins.contains { $0.name == "telegram/default" && $0.problem == nil } }
        try Telegram.tell(["do": "server", "poller": true], telegram)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("another program polls with this bot's token") == true }
        }
        try Telegram.say("hello", to: telegram)
        try Telegram.tell(["do": "server", "poller": false], telegram)
        await Telegram.waitForText("You wrote: hello", at: telegram)
        try await relay.waitForStatus { $0.plugins.contains { $0.name == "telegram/default" && $0.problem == nil } }
      }
    }

    @Test func `a webhook is named in the status`() async throws {
      try await Telegram.run("graceSeconds: 1") { telegram, relay in
        try Telegram.tell(["do": "server", "webhook": "https://a.example"], telegram)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("the bot has a webhook") == true }
        }
      }
    }

    @Test func `a token that is revoked is named in the status, and is in no log`() async throws {
      try await Telegram.run { telegram, relay in
        try Telegram.say("hello", to: telegram)
        await Telegram.waitForText("You wrote: hello", at: telegram)
        try Telegram.tell(["do": "server", "token": "123456789:another"], telegram)
        try Telegram.tell(["do": "drop"], telegram)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("Telegram refuses the token") == true }
        }
        let log = try await relay.command("logs", "telegram/default").output.joined(separator: "\n")
        #expect(!log.contains(Telegram.secret))
        let doctor = try await relay.command("doctor").output.joined(separator: "\n")
        #expect(doctor.contains("Telegram refuses the token") && !doctor.contains(Telegram.secret))
      }
    }

    @Test(arguments: [false, true])
    func `a group that becomes a supergroup keeps its conversation`(isSilent: Bool) async throws {
      try await Telegram.run("channels: [\"\(Telegram.group)\"]") { telegram, relay in
        try Telegram.say("/slow 15", in: Telegram.group, to: telegram)
        await Telegram.waitForText("The quick", at: telegram)
        try Telegram.tell(
          ["do": "migrate", "chat": -500, "to": -1_002_000_000_002, "silent": .bool(isSilent)], telegram)
        try Telegram.say("after", in: -1_002_000_000_002, to: telegram)
        let ledger = try #require(await Telegram.waitForText("[Ann]: after", at: telegram))
        #expect(ledger.first("[Ann]: after")?.chat == -1_002_000_000_002)
        let status = try await relay.status()
        #expect(status.sessions.count == 1)
      }
    }

    @Test func `a person who blocks the bot is named in the status until they unblock it`() async throws {
      try await Telegram.run { telegram, relay in
        try Telegram.say("/slow 30", to: telegram)
        await Telegram.wait(at: telegram) { !$0.all("drafted").isEmpty }
        try Telegram.tell(["do": "block", "chat": 1_001, "on": true], telegram)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("the person with the id 1001 has blocked the bot") == true }
        }
        // The others are answered all the same.
        try Telegram.say(
          "hello", in: Telegram.group,
          with: command(0).merging([
            "entities": [
              [
                "type": "text_mention", "offset": 0, "length": 1,
                "user": ["id": 123_456_789, "is_bot": true, "first_name": "R"],
              ]
            ]
          ]) { $1 }, to: telegram)
        await Telegram.waitForText("[Ann]: ello", at: telegram)
        try Telegram.tell(["do": "block", "chat": 1_001, "on": false], telegram)
        try await relay.waitForStatus { $0.plugins.contains { $0.name == "telegram/default" && $0.problem == nil } }
      }
    }

    @Test func `faults in the configuration are reported by line`() async throws {
      let config =
        "messengers:\n  telegram:\n    default:\n      token: abc\n      baseURL: http://example.com\n      channels: [\"5\"]\n"
      try await RelayFixture.run(config: config) { relay in
        let status = try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "telegram/default" && $0.state == .misconfigured }
        }
        let problem = try #require(status.plugins.first { $0.name == "telegram/default" }?.problem)
        #expect(problem.contains("line 4") && problem.contains("looks like 123456789:ABC"), "\(problem)")
        #expect(problem.contains("must begin with https://") && problem.contains("a negative number"), "\(problem)")
      }
    }
  }
}
