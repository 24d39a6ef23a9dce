import ControlServer
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// The extension itself, in Node, in a pi that the test plays, with the whole daemon.
  @Suite(.enabled(if: PlayedPi.node != nil, "there is no Node 20 or later")) struct ExtensionTests {
    @Test func `a message of a chat is answered by pi in the terminal`() async throws {
      try await PlayedPi.run { relay, _ in
        try await relay.messenger.say("from the phone", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("You wrote: from the phone")
        #expect(await relay.messenger.texts(role: .echo).isEmpty)
      }
    }

    @Test func `a session that the model begins has a thread, and in a direct message its name`() async throws {
      var capabilities = FakeMessenger.withButtons
      capabilities.threads = true
      try await PlayedPi.run(capabilities: capabilities) { relay, _ in
        let name = relay.scratch.path.split(separator: "/").last.map(String.init) ?? ""
        try await relay.messenger.say("/use \(name)", id: "channel", in: "c9", kind: .channel)
        _ = await relay.messenger.waitForOutcome(of: "channel")
        try await relay.messenger.say("spawn docs", id: "1", in: "c9", kind: .channel)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.wait {
          $0.messages.contains { $0.conversation.hasPrefix("thread-") && $0.text.contains("You wrote: hello docs") }
        }
        #expect(await relay.messenger.threadTitles == ["docs"])
        try await relay.messenger.say("spawn tests", id: "2")
        await relay.messenger.waitForText("The agent has begun the session tests. /use tests talks to it.")
        #expect(await relay.messenger.threadTitles == ["docs"])
      }
    }

    @Test func `a second terminal with the same session waits until the first is closed`() async throws {
      try await PlayedPi.run { relay, pi in
        let second = try PlayedPi(relay)
        try second.tell("start")
        await second.wait(for: "in another terminal")
        try await relay.messenger.say("to the first", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await pi.wait(for: #"{"message":"to the first"}"#)
        await pi.kill()
        try await relay.messenger.say("to the second", id: "2")
        await second.wait(for: #"{"message":"to the second"}"#)
        await second.kill()
      }
    }

    @Test func `a program that has left the tree of pi's processes does not command the daemon`() async throws {
      try await PlayedPi.run { relay, pi in
        // Its shell may be there still when it begins.
        let wait = #"while [ "$(cat /proc/$(cut -d" " -f4 /proc/$$/stat)/comm)" = sh ]; do :; done"#
        let stop = "PI_RELAY_HOME='\(relay.home.path)' '\(Built.executable("pi-relayd"))' stop"
        try pi.tell("shell (sh -c '\(wait); \(stop.replacing("'", with: "\""))' &)")
        await pi.wait(for: "an agent may not command the daemon")
      }
    }

    @Test func `words typed in the terminal are shown in the chat, with their answer`() async throws {
      try await PlayedPi.run { relay, pi in
        try pi.tell("type at the desk")
        await relay.messenger.waitForText("▶ USER: at the desk")
        await relay.messenger.waitForText("In the terminal: at the desk")
      }
    }

    @Test func `the model sends a text to the person who asked for the turn`() async throws {
      try await PlayedPi.run { relay, pi in
        try await relay.messenger.say("send half of it is done", id: "1")
        await relay.messenger.waitForText("half of it is done")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `nothing is sent to a person who has turned to another session`() async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        try await relay.messenger.say("hold git push", id: "1")
        _ = await relay.messenger.buttonsOfQuestion()
        try await relay.messenger.say("/new", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .handled)
        try pi.tell("send half of it is done")
        await pi.wait(for: "talks to another session now")
        #expect(await !relay.messenger.texts().contains("half of it is done"))
      }
    }

    @Test func `a question of the model is answered in the chat, and the terminal is told`() async throws {
      try await PlayedPi.run { relay, pi in
        try await relay.messenger.say("ask which colour?", id: "1")
        try await relay.messenger.answer(pressing: "blue")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("The model heard: blue")
        await pi.wait(for: #"{"notice":"Answered in a chat: blue"}"#)
      }
    }

    @Test func `an answer in the terminal takes the question out of the chat`() async throws {
      try await PlayedPi.run { relay, pi in
        try await relay.messenger.say("ask which colour?", id: "1")
        _ = await relay.messenger.buttonsOfQuestion()
        try pi.tell("choose red")
        await relay.messenger.waitForText("withdrawn: answered in the terminal: red")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("The model heard: red")
        #expect(await relay.messenger.questions.isEmpty)
      }
    }

    @Test func `the terminal's disconnect takes the session away from its chats`() async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        try await relay.messenger.say("hold git push", id: "1")
        _ = await relay.messenger.buttonsOfQuestion()
        try await relay.messenger.say("later", id: "2")
        await relay.messenger.waitForText("Queued")
        try pi.tell("relay disconnect")
        await pi.wait(for: "It was taken away from 1 chat.")
        await relay.messenger.waitForText("was disconnected in its terminal. Your next message starts another.")
        // The call is denied, and the message that waited is not run when the terminal is connected again.
        await pi.wait(for: #""block":true"#)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .stopped)
        try await relay.messenger.say("anybody here?", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        try pi.tell("relay sessions")
        await pi.wait(for: #"{"notice":"pi-relay: disconnected with /relay disconnect"}"#)
        try pi.tell("relay connect")
        await pi.wait(for: "connected to")
        try pi.tell("relay disconnect")
        await pi.wait(for: "No chat followed it.")
      }
    }

    @Test func `chats hear at once that pi has ended, and lists show it`() async throws {
      try await PlayedPi.run { relay, pi in
        try pi.tell("quit")
        await relay.messenger.waitForText("pi in the terminal has ended")
        try await relay.messenger.say("/sessions", id: "1")
        await relay.messenger.waitForText("— ended in its terminal")
        #expect(try await relay.status().sessions.map(\.terminal) == [.ended])
      }
    }

    @Test func `the terminal lists the sessions that everybody sees`() async throws {
      let conversations = "      conversations: {c9: {use: assistant}}"
      try await PlayedPi.run(approvals: conversations) { relay, pi in
        try await relay.messenger.say("private words", id: "1", in: "c9")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say("/new", id: "2", in: "c2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        #expect(try await relay.status().sessions.count == 3)
        try pi.tell("relay sessions")
        await pi.wait(for: #"{"notice":"Sessions (2):\n1. "#)
        await pi.wait(for: "← here")
      }
    }

    @Test func `the terminal's doctor tells the findings of the daemon`() async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { _, pi in
        try pi.tell("relay doctor")
        await pi.wait(for: "✔ approvals: on, with 1 rule(s)")
        await pi.wait(for: "✔ plugin fake/default: running")
      }
    }

    @Test func `a file of the terminal reaches the chats that follow, and no file outside of its folder`() async throws
    {
      var capabilities = FakeMessenger.withButtons
      capabilities.maximumFileBytes = 1000
      try await PlayedPi.run(capabilities: capabilities) { relay, pi in
        _ = try relay.scratch.write("plan.md", "# Plan")
        try pi.tell("relay send-file plan.md our plan")
        await pi.wait(for: #"{"notice":"Sent plan.md to 1 chat."}"#)
        await relay.messenger.waitForText("our plan[plan.md, 6 bytes]")
        try pi.tell("relay send-file ../../etc/passwd")
        await pi.wait(for: #"{"notice":"pi-relay: "#)
        try await relay.messenger.say("/disconnect", id: "1")
        await relay.messenger.waitForText("You no longer talk to")
        try pi.tell("relay send-file plan.md")
        await pi.wait(for: "no chat follows this session")
      }
    }
  }
}
