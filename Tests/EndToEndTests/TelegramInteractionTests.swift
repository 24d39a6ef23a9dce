import ControlServer
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// Buttons, questions, menus, files, topics and the set-up of Telegram, by the real plugin.
  @Suite struct TelegramInteractionTests {
    @Test func `a question is answered by a button, by a menu, by a reply and by words`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.say("/confirm", to: telegram)
        let asked = try #require(await Telegram.wait(at: telegram) { $0.first("Clear the cache?")?.buttons.count == 2 })
        let question = try #require(asked.first("Clear the cache?"))
        try Telegram.press(
          question.buttons[0].id, of: question.id, by: Telegram.stranger, in: Telegram.ann, at: telegram)
        await Telegram.wait(at: telegram) { $0.all("answered").contains { $0["text"] == "Not authorized." } }
        try Telegram.press(question.buttons[0].id, of: question.id, at: telegram)
        let answered = try #require(await Telegram.waitForText("Clear the cache? — yes", at: telegram))
        #expect(answered.first("Clear the cache? — yes")?.id == question.id)
        #expect(answered.first("Clear the cache? — yes")?.buttons.isEmpty == true)
        await Telegram.wait(at: telegram) { $0.all("answered").count == 2 }
        // Pressed once more it changes nothing, and the client does not wait for ever.
        try Telegram.press(question.buttons[1].id, of: question.id, at: telegram)
        await Telegram.wait(at: telegram) { $0.all("answered").count == 3 }

        try Telegram.say("/select", to: telegram)
        let menu = try #require(await Telegram.wait(at: telegram) { $0.first("Which colour?")?.buttons.count == 3 })
        let colours = try #require(menu.first("Which colour?"))
        #expect(colours.buttons.map(\.label) == ["Red", "Green", "Blue"])
        try Telegram.press(colours.buttons[2].id, of: colours.id, at: telegram)
        await Telegram.waitForText("Which colour? — Blue", at: telegram)

        try Telegram.say("/input", to: telegram)
        let wanted = try #require(await Telegram.wait(at: telegram) { $0.first("What is your name?")?.asks == true })
        let form = try #require(wanted.first("What is your name?"))
        try Telegram.say(
          "Ada",
          with: [
            "reply_to_message": [
              "message_id": .integer(Int64(form.id)), "date": 1, "text": "What is your name?",
              "chat": ["id": 1_001, "type": "private"], "from": ["id": 123_456_789, "is_bot": true, "first_name": "R"],
            ]
          ], to: telegram)
        await Telegram.waitForText("What is your name? — Ada", at: telegram)
        try Telegram.say("/confirm", to: telegram)
        await Telegram.wait(at: telegram) { $0.texts.contains { $0.text.contains("Clear") && !$0.buttons.isEmpty } }
        try Telegram.say("no", to: telegram)
        await Telegram.waitForText("Clear the cache? — no", at: telegram)
      }
    }

    @Test func `an album is one message, and its pictures reach the agent in order`() async throws {
      try await Telegram.run("images: automatic") { telegram, relay in
        for (index, name) in ["P1", "P2"].enumerated() {
          try Telegram.tell(["do": "file", "id": .string(name), "base64": .string(Telegram.picture)], telegram)
          var message: [String: JSONValue] = [
            "media_group_id": "g1",
            "photo": [
              ["file_id": "small", "file_unique_id": "s", "width": 1, "height": 1],
              ["file_id": .string(name), "file_unique_id": "u", "width": 90, "height": 90],
            ],
          ]
          if index == 0 { message["caption"] = "both" }
          try Telegram.say(with: message, to: telegram)
        }
        let ledger = try #require(await Telegram.waitForText("I received 2 image(s)", at: telegram))
        #expect(ledger.first("I received 2 image(s)")?.text.contains("You wrote: both") == true)
        #expect(ledger.texts.count == 1)
      }
    }

    @Test(arguments: [false, true])
    func `files go both ways, also through a server that keeps them on this machine`(isOwn: Bool) async throws {
      let folder = try TemporaryFolder()
      try await Telegram.run("images: automatic") { telegram, relay in
        if isOwn { try Telegram.tell(["do": "server", "folder": .string(folder.path)], telegram) }
        try Telegram.tell(["do": "file", "id": "F1", "text": "the secret is 42"], telegram)
        try Telegram.say(
          with: [
            "caption": "look",
            "document": [
              "file_id": "F1", "file_unique_id": "u", "file_name": "note.txt", "mime_type": "text/plain",
              "file_size": 16,
            ],
          ], to: telegram)
        await Telegram.waitForText("the secret is 42", at: telegram)
        try Telegram.say("/image", to: telegram)
        let ledger = try #require(await Telegram.wait(at: telegram) { $0.texts.contains { !$0.files.isEmpty } })
        #expect(ledger.texts.count { $0.form == "photo" } == 1)
        let log = try await relay.command("logs", "telegram/default").output.joined(separator: "\n")
        #expect(!log.contains(Telegram.secret))
      }
    }

    @Test func `a picture that Telegram refuses goes as a document`() async throws {
      try await Telegram.run("images: automatic") { telegram, _ in
        try Telegram.tell(["do": "server", "photos": false], telegram)
        try Telegram.say("/image", to: telegram)
        let ledger = try #require(await Telegram.wait(at: telegram) { $0.texts.contains { !$0.files.isEmpty } })
        #expect(ledger.texts.count { $0.form == "document" } == 1)
      }
    }

    @Test func `a file that is too large for bots and other kinds of messages are answered`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.tell(["do": "file", "id": "F1", "size": .integer(21 << 20)], telegram)
        try Telegram.say(
          with: ["video": ["file_id": "F1", "file_unique_id": "u", "width": 1, "height": 1, "duration": 1]],
          to: telegram)
        await Telegram.waitForText("video.mp4", at: telegram)
        try Telegram.say(with: ["location": ["latitude": .number(48.5), "longitude": .number(9.25)]], to: telegram)
        await Telegram.waitForText("You wrote: [Location: 48.5, 9.25]", at: telegram)
      }
    }

    @Test func `the menu has names that Telegram takes, and a command from it is understood`() async throws {
      try await Telegram.run { telegram, _ in
        let ledger = try #require(await Telegram.wait(at: telegram) { !$0.all("registered").isEmpty })
        let names = ledger.all("registered").last?["names"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(names.contains("status") && names.allSatisfy { $0.wholeMatch(of: /[a-z0-9_]+/) != nil })
        try Telegram.say("/start", to: telegram)
        await Telegram.waitForText("Write to the agent", at: telegram)
        try Telegram.say("/status", to: telegram)
        await Telegram.waitForText("There is no session here yet", at: telegram)
        // A link's code goes to the relay as it is.
        try Telegram.say("/start code-of-a-link", to: telegram)
        await Telegram.waitForText("/start code-of-a-link", at: telegram)
      }
    }

    @Test func `the stop button of a draft stops the answer, and what there is stays`() async throws {
      try await Telegram.run { telegram, _ in
        try Telegram.say("/slow 200", to: telegram)
        let ledger = try #require(await Telegram.wait(at: telegram) { $0.all("drafted").count > 1 })
        let draft = try #require(ledger.all("drafted").last?["draft"])
        try Telegram.tell(["do": "stop", "chat": 1_001, "draft": draft], telegram)
        let stopped = try #require(await Telegram.waitForText("⏹ Stopped.", at: telegram))
        #expect(stopped.first("The quick") != nil)
      }
    }

    @Test func `a session begins in a topic of its own, where every message is for the bot`() async throws {
      let root = try TemporaryFolder()
      try await Telegram.run(sessions: "roots: [\(root.path)]") { telegram, relay in
        try Telegram.say(
          "/spawn fixes --in \(root.path) -- /table", in: Telegram.forum,
          with: ["entities": [["type": "bot_command", "offset": 0, "length": 6]]], to: telegram)
        let ledger = try #require(await Telegram.waitForText("That is", at: telegram))
        let topic = try #require(ledger.all("topic").first?["id"]?.integerValue)
        #expect(ledger.first("That is")?.topic == Int(topic))
        let inTopic: [String: JSONValue] = ["message_thread_id": .integer(topic), "is_topic_message": true]
        try await relay.crash("telegram/default")
        try Telegram.say("go on", in: Telegram.forum, with: inTopic, to: telegram)
        let later = try #require(await Telegram.waitForText("[Ann]: go on", at: telegram))
        #expect(later.first("[Ann]: go on")?.topic == Int(topic))
        try Telegram.say("not for it", in: Telegram.forum, to: telegram)
        try Telegram.say(
          in: Telegram.forum, with: inTopic.merging(["forum_topic_closed": [:]]) { $1 }, to: telegram)
        try await relay.waitForStatus { $0.sessions.allSatisfy { $0.pid == nil } }
        #expect(TelegramLedger(telegram.printed).first("not for it") == nil)
      }
    }

    @Test func `a set-up tries the token, removes a webhook after asking, and pairs by a link`() async throws {
      try await PythonServer.run("fake-telegram") { telegram in
        try await RelayFixture.run(config: "# mine\n", startsDaemon: false) { relay in
          try Telegram.tell(["do": "server", "webhook": "https://a.example"], telegram)
          let base = "baseURL=http://127.0.0.1:\(telegram.ports[0])"
          let questions = try await relay.converse("setup", "telegram", "--set", base) { line, answer in
            switch line {
            case let line where line.hasPrefix("The token"): answer("\"\(Telegram.token)\"")
            case let line where line.hasPrefix("Another program gets"): answer("yes")
            case let line where line.hasPrefix("4."): answer("")
            case let line where line.contains("https://t.me/relay_bot?start="):
              let code = line.split(separator: "=").last.map(String.init) ?? ""
              try? Telegram.say("/start \(code)", to: telegram)
            default: break
            }
          }
          #expect(questions.exit == .exited(0), "\(questions.output) \(questions.errors)")
          let said = questions.output.joined(separator: "\n")
          #expect(said.contains("This is the bot @relay_bot") && said.contains("The webhook is removed"))
          #expect(said.contains("privacy mode is on") && !said.contains(Telegram.secret))
          let text = try relay.configuration
          #expect(text.contains("# mine") && text.contains("1001") && !text.contains(Telegram.secret), "\(text)")
          try await relay.start()
          try Telegram.say("hello", to: telegram)
          let ledger = try #require(await Telegram.waitForText("You wrote: hello", at: telegram))
          #expect(ledger.texts.count == 1, "the code went to nobody else: \(ledger.texts.map(\.text))")
          let doctor = try await relay.command("doctor").output.joined(separator: "\n")
          #expect(
            doctor.contains("the token is that of @relay_bot") && doctor.contains("no webhook is set"), "\(doctor)")
        }
      }
    }
  }
}
