import ControlServer
import FoundationEssentials
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Sessions whose agents people run in terminals.
  @Suite struct AttachedSessionTests {
    private func attach(_ relay: RelayFixture, _ session: String = "t1", name: String = "shop", more: String = "")
      async throws -> TerminalPi
    {
      try await TerminalPi(
        relay.home.socket, session: session, name: name, directory: relay.scratch.path, more: more)
    }

    /// A conversation that has chosen the session.
    private func choose(_ name: String, _ relay: RelayFixture) async throws {
      try await relay.messenger.say("/use \(name)", id: "use-\(name)")
      _ = await relay.messenger.waitForOutcome(of: "use-\(name)")
    }

    /// pi takes the next prompt and answers it.
    private func serve(_ pi: TerminalPi, _ answer: String) async throws -> String {
      let prompt = try #require(await pi.next("prompt"))
      let text = prompt["message"]?.stringValue ?? ""
      try pi.accept(prompt)
      try pi.beginRun(text, source: "relay")
      try pi.endRun(answer)
      return text
    }

    @Test func `a session of a terminal is chosen, driven and answered like any other`() async throws {
      try await RelayFixture.run { relay in
        let pi = try await attach(relay)
        #expect(pi.greeting["session"]?["name"]?.stringValue == "shop")
        try await choose("shop", relay)
        try await relay.messenger.say("fix the tests", id: "1")
        #expect(try await serve(pi, "They pass now.") == "fix the tests")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("They pass now.")
        #expect(await relay.messenger.texts(role: .echo).isEmpty)
      }
    }

    @Test func `words typed in the terminal and their answer are shown to those who watch`() async throws {
      try await RelayFixture.run { relay in
        let pi = try await attach(relay)
        try await choose("shop", relay)
        let lines = Lines()
        async let watched = relay.converse("watch", "shop") { line, _ in lines.add(line) }
        await lines.wait { $0.contains { $0.hasPrefix("shop is ") } }
        try pi.beginRun("typed here", source: "interactive")
        await relay.messenger.waitForText("▶ USER: typed here")
        try pi.endRun("An answer for both.")
        await relay.messenger.waitForText("An answer for both.")
        // It came without the pieces that pi streams.
        await lines.wait { $0.contains("▶ typed here") && $0.contains("An answer for both.") }
        try await relay.messenger.say("/close", id: "close")
        #expect(try await watched.exit == .exited(0))
      }
    }

    @Test func `a message that comes while the terminal's own run works is answered after it`() async throws {
      try await RelayFixture.run { relay in
        let pi = try await attach(relay)
        try await choose("shop", relay)
        try pi.beginRun("typed here", source: "interactive")
        await relay.messenger.waitForText("▶ USER: typed here")
        try await relay.messenger.say("from the chat", id: "1")
        let prompt = try #require(await pi.next("prompt"))
        try pi.accept(prompt, disposition: "queued")
        try pi.endRun("For the terminal.")
        await relay.messenger.waitForText("For the terminal.")
        try pi.beginRun("from the chat", source: "relay")
        try pi.endRun("For the chat.")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("For the chat.")
      }
    }

    @Test func `stop interrupts a run that was begun in the terminal`() async throws {
      try await RelayFixture.run { relay in
        let pi = try await attach(relay)
        try await choose("shop", relay)
        try pi.beginRun("typed here", source: "interactive")
        await relay.messenger.waitForText("▶ USER: typed here")
        try await relay.messenger.say("/stop", id: "1")
        let abort = try #require(await pi.next("abort"))
        try pi.accept(abort)
        _ = await relay.messenger.waitForOutcome(of: "1")
      }
    }

    @Test func `a message waits while pi is away, and runs once when it is back`() async throws {
      try await RelayFixture.run { relay in
        let first = try await attach(relay)
        try await choose("shop", relay)
        first.close()
        // A message that comes before the daemon has noticed may be with pi, so that a person is asked.
        try await waitForFiles(in: relay.bridges + "/instances") {
          try FileManager.default.contentsOfDirectory(atPath: relay.bridges + "/instances").isEmpty
        }
        try await relay.messenger.say("are you there?", id: "1")
        await relay.messenger.waitForText("in the terminal is not connected")
        let second = try await attach(relay)
        #expect(try await serve(second, "Back again.") == "are you there?")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("Back again.")
      }
    }

    @Test func `a run that pi leaves in the middle is reported, and not given to the next`() async throws {
      try await RelayFixture.run { relay in
        let first = try await attach(relay)
        try await choose("shop", relay)
        try await relay.messenger.say("begin", id: "1")
        let prompt = try #require(await first.next("prompt"))
        try first.accept(prompt)
        try first.beginRun("begin", source: "relay")
        await relay.messenger.wait { $0.typing.last == true }
        first.close()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        let second = try await attach(relay)
        try await relay.messenger.say("next", id: "2")
        #expect(try await serve(second, "Fine.") == "next")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }

    @Test func `a person is asked about a message that pi may hold, and pi is not given it twice`() async throws {
      try await RelayFixture.run { relay in
        let first = try await attach(relay)
        try await choose("shop", relay)
        try await relay.messenger.say("fix the tests", id: "1")
        _ = try #require(await first.next("prompt"))
        first.close()
        let second = try await attach(relay)
        await relay.messenger.waitForText("It is not known whether the agent took this message")
        try await relay.messenger.say("Run again", id: "2")
        #expect(try await serve(second, "They pass now.") == "fix the tests")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    /// pi asks a question.
    private func ask(_ pi: TerminalPi, _ relay: RelayFixture) async throws {
      try pi.write(
        #"{"type":"extension_ui_request","id":"q1","method":"select","title":"Which one?","options":["left","right"]}"#)
      await relay.messenger.waitForText("Which one?")
    }

    @Test func `a question of the terminal's turn outlives the messages that end meanwhile`() async throws {
      try await RelayFixture.run { relay in
        let pi = try await attach(relay)
        try await choose("shop", relay)
        try pi.beginRun("typed here", source: "interactive")
        await relay.messenger.waitForText("▶ USER: typed here")
        try await relay.messenger.say("from the chat", id: "1")
        let prompt = try #require(await pi.next("prompt"))
        try await ask(pi, relay)
        try pi.accept(prompt, disposition: "handled")
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.messenger.say("right", id: "2")
        let answer = try #require(await pi.next("extension_ui_response"))
        #expect(answer["id"] == "q1" && answer["value"] == "right")
      }
    }

    @Test func `a daemon that stops leaves the terminal its question`() async throws {
      try await RelayFixture.run { relay in
        let pi = try await attach(relay)
        try await choose("shop", relay)
        try await ask(pi, relay)
        _ = await relay.stop()
        #expect(await pi.next("extension_ui_response") == nil)
        await relay.messenger.waitForText("pi-relayd is stopping")
      }
    }

    @Test func `the session is found again by the next daemon`() async throws {
      try await RelayFixture.run { relay in
        let first = try await attach(relay)
        try await choose("shop", relay)
        try await relay.killAndStart()
        first.close()
        let second = try await attach(relay)
        try await relay.messenger.say("still here?", id: "1")
        #expect(try await serve(second, "Yes.") == "still here?")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `conversations follow a terminal that turns to another session`() async throws {
      try await RelayFixture.run { relay in
        let first = try await attach(relay)
        try await choose("shop", relay)
        first.close()
        let second = try await attach(relay, "t2", name: "garden", more: #""reason":"new""#)
        await relay.messenger.waitForText("turned to the session garden")
        try await relay.messenger.say("where am I?", id: "1")
        #expect(try await serve(second, "In the garden.") == "where am I?")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `a session that the daemon runs itself is refused to a terminal`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let own = try #require(try await relay.status().sessions.first?.id)
        await #expect(throws: WireError.self) { try await attach(relay, own) }
      }
    }

    @Test func `terminals take no place of the daemon's own agents`() async throws {
      try await RelayFixture.run(sessions: "maximum: 1") { relay in
        let pi = try await attach(relay)
        try await relay.messenger.say("hello", id: "1", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await choose("shop", relay)
        try await relay.messenger.say("and here", id: "2")
        #expect(try await serve(pi, "Here as well.") == "and here")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }
  }
}
