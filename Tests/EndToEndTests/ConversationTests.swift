import ControlServer
import FoundationEssentials
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  @Suite struct ConversationTests {
    @Test func `an answer arrives although a terminal title precedes each of the agent's lines`() async throws {
      try await RelayFixture.run(agentFilter: #"sed -u 's/^/\x1b]0;pi\x07/'"#) { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count == 1)
      }
    }

    @Test(arguments: ["current", "cumulative"]) func `a message reaches the agent and the answer streams out`(
      dialect: String
    )
      async throws
    {
      try await RelayFixture.run(agent: ["--dialect", dialect]) { relay in
        let reply = try await relay.messenger.say("/slow 12", id: "1")
        #expect(reply.stored)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let answer = try #require(await relay.messenger.messages.first { $0.role == .answer })
        #expect(answer.text.hasPrefix("The quick brown fox jumps over the lazy dog"))
        #expect(!answer.isGrowing)
        #expect(answer.history.count > 2, "it streamed")
        for (earlier, later) in zip(answer.history, answer.history.dropFirst()) { #expect(later.hasPrefix(earlier)) }
        #expect(await relay.messenger.typing == [true, false])
      }
    }

    @Test func `secrets are redacted before text is cut`() async throws {
      let config = RelayFixture.defaultConfig + "\ndelivery: {redact: ['ACME-[0-9]{6}']}\n"
      try await RelayFixture.run(config: config, isOldAgent: true) { relay in
        try FileManager.default.removeItem(atPath: relay.scratch.path + "/old-agent")
        // Its last digits are beyond the 200 characters that are repeated.
        let filling = String(repeating: "x", count: 192)
        try await relay.messenger.say("\(filling) ACME-123456", id: "1")
        await relay.messenger.waitForText("The message waits, because")
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("ACME") })
        #expect(await relay.messenger.texts().contains { $0.contains("\(filling) [redact") })
      }
    }

    @Test func `secrets are redacted from a thread's title`() async throws {
      let config = RelayFixture.defaultConfig + "\ndelivery: {redact: ['ACME-[0-9]{6}']}\n"
      var capabilities = FakeMessenger.usual
      capabilities.threads = true
      try await RelayFixture.run(config: config, capabilities: capabilities) { relay in
        try await relay.messenger.say("/spawn ACME-123456", id: "1", kind: .channel)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        #expect(await relay.messenger.threadTitles == ["[redacted]"])
      }
    }

    @Test func `a message withdrawn before it ran is not shown to others as a stopped run`() async throws {
      try await RelayFixture.run(isOldAgent: true) { relay in
        try FileManager.default.removeItem(atPath: relay.scratch.path + "/old-agent")
        try await relay.messenger.say("/new shared", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.messenger.say("/use 1", id: "2", in: "c2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        try await relay.messenger.say("never mind", id: "3")
        await relay.messenger.waitForText("The message waits, because", in: "c2")
        _ = try await relay.messenger.request(MessageDeleted(id: "3", conversation: Conversation(id: "c1")))
        #expect(await relay.messenger.waitForOutcome(of: "3") == .stopped)
        try await relay.messenger.say("/help", id: "4", in: "c2")
        _ = await relay.messenger.waitForOutcome(of: "4")
        let texts = await relay.messenger.texts(in: "c2")
        #expect(!texts.contains { $0.hasPrefix("▶") || $0.hasPrefix("⏹") }, "\(texts)")
      }
    }

    @Test func `secrets are never shown, not even while an answer grows`() async throws {
      let config = RelayFixture.defaultConfig + "\ndelivery: {redact: ['ACME-[0-9]{6}']}\n"
      try await RelayFixture.run(config: config) { relay in
        for (number, text) in ["note ACME-123456 twice", "/slow 90 ACME-654321", "/select 60000 ACME-777777"]
          .enumerated()
        {
          try await relay.messenger.say(text, id: "\(number)")
          if number == 2 {
            await relay.messenger.wait { !$0.questions.isEmpty }
            try await relay.messenger.say("1", id: "answer")
          }
          #expect(await relay.messenger.waitForOutcome(of: "\(number)") == .answered)
        }
        let shown = await relay.messenger.messages.flatMap { $0.history + [$0.text] }
        #expect(shown.contains { $0.contains("You wrote: note [redacted] twice") })
        #expect(shown.contains { $0.hasSuffix("([redacted])") })
        #expect(shown.contains { $0.contains("Which colour? ([redacted])") })
        #expect(!shown.contains { $0.contains("ACME-1") || $0.contains("ACME-6") || $0.contains("ACME-7") })
      }
    }

    @Test func `a repeated message is stored and answered once`() async throws {
      try await RelayFixture.run { relay in
        #expect(try await relay.messenger.say("hello", id: "1").stored)
        #expect(try await relay.messenger.say("hello", id: "1").stored == false)
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.messenger.say("again", id: "2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        #expect(await relay.messenger.texts(role: .answer).count { $0.contains("You wrote: hello") } == 1)
      }
    }

    @Test func `a long answer becomes several messages and loses nothing`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/long 2000", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        let texts = await relay.messenger.texts(role: .answer)
        #expect(texts.count >= 5)
        #expect(texts.allSatisfy { $0.utf16.count <= 2_000 })
        let words = texts.joined(separator: " ").split(whereSeparator: \.isWhitespace)
        #expect(words.count == 2_000)
        #expect(await relay.messenger.messages.allSatisfy { !$0.isGrowing })
      }
    }

    @Test func `messages for a busy agent wait their turn with a notice`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 100", id: "1")
        try await relay.messenger.say("second", id: "2")
        try await relay.messenger.say("third", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        let texts = await relay.messenger.texts()
        #expect(texts.count { $0.hasPrefix("⏳ Queued") } == 2)
        let second = try #require(texts.firstIndex { $0.hasPrefix("You wrote: second") })
        let third = try #require(texts.firstIndex { $0.hasPrefix("You wrote: third") })
        #expect(second < third)
      }
    }

    @Test func `an idle agent's acceptance is shown by typing alone`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        #expect(await !relay.messenger.texts().contains { $0.contains("Queued") })
      }
    }

    @Test func `steering reaches the run in progress`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 60", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/steer look left", id: "2")
        await relay.messenger.waitForText("The working agent has your message")
        await relay.messenger.waitForText("You wrote: look left")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `stopping ends the run and the next message is answered`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/stop", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        await relay.messenger.waitForText("⏹ Stopped.")
        try await relay.messenger.say("still there?", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        try await relay.messenger.say("/stop", id: "4")
        await relay.messenger.waitForText("there is nothing to stop")
      }
    }

    @Test func `tools are summed up, images come only on request, and failures are shown`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/tool", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .tools) == ["🔧 **bash** `$ ls -l`"])
        try await relay.messenger.say("/fail", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        await relay.messenger.waitForText("❌ The model is overloaded")
      }
    }

    @Test func `a retry of an older pi does not count as the end of the run`() async throws {
      try await RelayFixture.run(agent: ["--dialect", "cumulative"]) { relay in
        try await relay.messenger.say("/retry", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer) == ["It worked the second time."])
      }
    }

    @Test func `a slow tool is mentioned while it runs and not afterwards`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/tool 1500", id: "1")
        await relay.messenger.waitForText("⏳ Running bash…")
        _ = await relay.messenger.waitForOutcome(of: "1")
        #expect(await !relay.messenger.texts().contains { $0.contains("Running bash") })
      }
    }

    @Test func `without streaming the final output comes whole, without edits`() async throws {
      let config = RelayFixture.defaultConfig + "\n      output: final"
      try await RelayFixture.run(config: config) { relay in
        try await relay.messenger.say("/slow 10", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        let answers = await relay.messenger.messages.filter { $0.role == .answer }
        #expect(answers.count == 1 && answers[0].history.count == 1)
      }
    }

    @Test func `rate limits and temporary failures delay a message and do not lose it`() async throws {
      try await RelayFixture.run { relay in
        await relay.messenger.fail(
          MessageSend.method,
          with: [
            DeliveryFailure.rateLimited(retryAfter: 0.05).wireError, DeliveryFailure.transient("reset").wireError,
          ])
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count == 1)
      }
    }

    @Test func `images and text files reach the agent, and other files are named`() async throws {
      try await RelayFixture.run { relay in
        await relay.messenger.wait { $0.lastInitialize != nil }
        let spool = try #require(await relay.messenger.lastInitialize?.spoolDir)
        let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 0, count: 62))
        try png.write(to: URL(filePath: spool + "/1"))
        try Data("print(1)".utf8).write(to: URL(filePath: spool + "/2"))
        try Data([0, 1, 2, 3]).write(to: URL(filePath: spool + "/3"))
        try await relay.messenger.say(
          "look", id: "1",
          attachments: [
            Attachment(id: "1", name: "photo.txt", path: spool + "/1"),
            Attachment(id: "2", name: "code\u{202E}.py", path: spool + "/2"),
            Attachment(id: "3", name: "data.bin", path: spool + "/3"),
            Attachment(id: "4", name: "passwd", path: "/etc/passwd"),
          ])
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let answer = await relay.messenger.texts(role: .answer).joined()
        #expect(answer.contains("I received 1 image(s): image/png, 70 bytes"))
        #expect(answer.contains("--- code.py ---\nprint(1)"))
        #expect(answer.contains("data.bin") && answer.contains("not a picture or text"))
        #expect(answer.contains("passwd") && answer.contains("outside the spool folder") && !answer.contains("root:"))
      }
    }

    @Test func `in a channel the agent is told who writes`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hi", id: "1", kind: .channel)
        await relay.messenger.waitForText("You wrote: [Ann]: hi")
      }
    }
  }
}

extension EndToEnd.Sessions {
  @Suite struct AuthorisationTests {
    @Test func `a stranger gets one refusal and nothing else`() async throws {
      try await RelayFixture.run { relay in
        for id in 1...5 {
          let reply = try await relay.messenger.say("let me in", id: "\(id)", from: "mallory")
          #expect(!reply.stored)
        }
        try await relay.messenger.say("/sessions", id: "6", from: "mallory")
        try await relay.messenger.press("abc:1", id: "7", from: "mallory")
        await relay.messenger.waitForText("Not authorized.")
        try await relay.messenger.say("hello", id: "8", in: "c2")
        _ = await relay.messenger.waitForOutcome(of: "8")
        #expect(await relay.messenger.texts(in: "c1") == ["Not authorized."])
        #expect(try await relay.status().sessions.count == 1)
      }
    }

    @Test func `an empty list admits nobody, with a warning`() async throws {
      try await RelayFixture.run(config: "messengers: {fake: {default: {}}}") { relay in
        let reply = try await relay.messenger.say("hello", id: "1")
        #expect(!reply.stored)
        try await relay.waitForLog("fake/default: it admits nobody")
      }
    }

    @Test func `admission of everyone has to be written out and is mentioned at every start`() async throws {
      try await RelayFixture.run(config: "messengers: {fake: {default: {auth: {everyone: true}}}}") { relay in
        try await relay.messenger.say("hello", id: "1", from: "anybody")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.waitForLog("fake/default: it admits everyone")
      }
    }

    @Test func `a question in a session that was left is reported to the conversation of its message`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 60", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/select", id: "2")
        try await relay.messenger.say("/new second", id: "3")
        await relay.messenger.waitForText("which you left, asks: Which colour?")
        #expect(await relay.messenger.texts(role: .dialog).isEmpty)
        try await relay.messenger.say("/use 1", id: "4")
        await relay.messenger.wait { !$0.texts(role: .dialog).isEmpty }
        try await relay.messenger.say("1", id: "5")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }
  }
}
