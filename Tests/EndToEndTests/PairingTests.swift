import CLinux
import ControlServer
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  @Suite struct PairingTests {
    private static let ann = "u1"
    private static let stranger = "mallory"

    private static func texts(_ relay: RelayFixture, _ person: String = stranger) async -> [String] {
      await relay.messenger.texts(in: "dm-\(person)")
    }

    @Test func `a stranger with a code that is confirmed talks to sessions of their own, over restarts`() async throws {
      try await PairingTerminal.withSession { relay, terminal, _ in
        let offer = try await terminal.begin()
        #expect(
          offer.messenger == "fake/default" && offer.link == nil && offer.lines[0].contains("/pair \(offer.code)"))
        #expect(try await !relay.messenger.say("hello", id: "1", in: "dm-mallory", from: Self.stranger).stored)
        try await relay.messenger.say(offer.code, id: "2", in: "dm-mallory", from: Self.stranger)
        let asked = try await terminal.step(offer)
        #expect(asked.kind == .asked && asked.text.hasPrefix("Ann (mallory on fake/default) has sent the code"))
        // Not before the terminal has agreed.
        #expect(try await !relay.messenger.say("hello", id: "3", in: "dm-mallory", from: Self.stranger).stored)
        _ = try await terminal.decide(.once, offer)
        #expect(try await terminal.step(offer).kind == .paired)
        await relay.messenger.waitForText("You are admitted", in: "dm-mallory")
        for (number, change) in RelayFixture.Break.allCases.enumerated() {
          try await relay.messenger.say("one \(number)", id: "a\(number)", in: "dm-mallory", from: Self.stranger)
          #expect(await relay.messenger.waitForOutcome(of: "a\(number)") == .answered)
          try await relay.goThrough(change)
        }
        try await relay.messenger.say("/sessions", id: "list", in: "dm-mallory", from: Self.stranger)
        _ = await relay.messenger.waitForOutcome(of: "list")
        let list = try #require(await Self.texts(relay).last)
        #expect(list.hasPrefix("Sessions (1)") && !list.contains("work"), "\(list)")
      }
    }

    @Test func `a person who is paired with a session sees and uses that one, in that conversation`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        try await relay.messenger.say("/new other", id: "other")
        _ = await relay.messenger.waitForOutcome(of: "other")
        try await terminal.pair(session: session, at: relay)
        for (number, words) in ["hello", "/sessions", "/use other", "/new mine", "/close", "/spawn x"].enumerated() {
          try await relay.messenger.say(words, id: "w\(number)", in: "dm-mallory", from: Self.stranger)
          _ = await relay.messenger.waitForOutcome(of: "w\(number)")
        }
        let said = await Self.texts(relay)
        #expect(said.contains { $0.contains("You wrote: hello") }, "\(said)")
        #expect(said.contains { $0.hasPrefix("Sessions (1)") && $0.contains("work") }, "\(said)")
        #expect(said.contains { $0.hasPrefix("There is no session \"other\"") }, "\(said)")
        #expect(said.count { $0.contains("is not for people who were paired with a session") } == 3, "\(said)")
        #expect(try await relay.status().sessions.count == 2)
        // Another person in that chat, and that person in another chat or a group.
        let others = [
          ("ann2", "dm-mallory", Conversation.Kind.dm), (Self.stranger, "dm-2", .dm), (Self.stranger, "g", .channel),
        ]
        for (number, (person, place, kind)) in others.enumerated() {
          let reply = try await relay.messenger.say("hi", id: "o\(number)", in: place, from: person, kind: kind)
          #expect(reply.refused == true)
        }
        // The code is refused in a group.
        let offer = try await terminal.begin(session: session)
        #expect(
          try await relay.messenger.say("/pair \(offer.code)", id: "g", in: "g", from: "bob", kind: .channel).refused
            == true)
      }
    }

    @Test func `a person whom the configuration admits, and one who is trusted, need no confirmation`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        try await relay.messenger.say("/new other", id: "other")
        _ = await relay.messenger.waitForOutcome(of: "other")
        let offer = try await terminal.begin(session: session)
        try await relay.messenger.say("pair \(offer.code)", id: "code", from: Self.ann)
        #expect(try await terminal.step(offer).kind == .paired)
        await relay.messenger.waitForText("You are paired with the session work")
        try await relay.messenger.say("/sessions", id: "list", from: Self.ann)
        _ = await relay.messenger.waitForOutcome(of: "list")
        #expect(await relay.messenger.texts().last?.contains("Sessions (2)") == true)

        try await terminal.pair(session: session, .trust, id: "trust", at: relay)
        let reply = try await terminal.ask(PairingListRequest())
        #expect(reply.trusted.map(\.person) == [Self.stranger])
        _ = try await terminal.ask(PairingRevokeRequest(user: Self.stranger))
        // Trust alone is no right.
        #expect(try await relay.messenger.say("hi", id: "t", in: "dm-mallory", from: Self.stranger).refused == true)
        let again = try await terminal.begin(session: session)
        try await relay.messenger.say("/pair \(again.code)", id: "again", in: "dm-mallory", from: Self.stranger)
        #expect(try await terminal.step(again).kind == .paired)
        _ = try await terminal.ask(PairingUntrustRequest(messenger: "fake", user: Self.stranger))
        let third = try await terminal.begin(session: session)
        try await relay.messenger.say("/pair \(third.code)", id: "third", in: "dm-mallory", from: Self.stranger)
        #expect(try await terminal.step(third).kind == .asked)
      }
    }

    @Test func `a refusal at the terminal, a used code and a wrong one admit nobody`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        let refused = try await terminal.begin(session: session)
        try await relay.messenger.say("/pair \(refused.code)", id: "1", in: "dm-mallory", from: Self.stranger)
        #expect(try await terminal.step(refused).kind == .asked)
        _ = try await terminal.decide(.deny, refused)
        #expect(try await terminal.step(refused).kind == .ended)
        await relay.messenger.waitForText("has refused the pairing", in: "dm-mallory")
        try await relay.messenger.say("/pair \(refused.code)", id: "2", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.waitForText("That code has expired", in: "dm-mallory")
        try await terminal.pair("bob", session: session, id: "3", at: relay)
        try await relay.messenger.say("/start no-such-code", id: "4", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.waitForText("There is no such code", in: "dm-mallory")
        #expect(try await relay.messenger.say("hi", id: "5", in: "dm-mallory", from: Self.stranger).refused == true)
      }
    }

    @Test func `the code of a terminal that has gone is void`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        let offer = try await terminal.begin(session: session)
        // A terminal of its own, which waits, and goes when the daemon has its request: requests are read in order.
        let descriptor = relay_connect_unix(relay.home.socket)
        #expect(descriptor >= 0)
        let lines = Array(
          (#"{"jsonrpc":"2.0","id":1,"method":"pairing.wait","params":{"pairing":"\#(offer.pairing)"}}"# + "\n"
            + #"{"jsonrpc":"2.0","id":2,"method":"ping","params":{}}"# + "\n").utf8)
        #expect(write(descriptor, lines, lines.count) == lines.count)
        var answer = [UInt8](repeating: 0, count: 100)
        #expect(read(descriptor, &answer, answer.count) > 0)
        close(descriptor)
        // The daemon has noticed when it knows the pairing no more.
        var refusal = ""
        while !refusal.contains("there is none with this id") {
          do { _ = try await terminal.decide(.once, offer) } catch { refusal = "\(error)" }
        }
        try await relay.messenger.say("/pair \(offer.code)", id: "1", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.waitForText("That code has expired", in: "dm-mallory")
      }
    }

    @Test func `one request at a time waits for a pairing`() async throws {
      try await PairingTerminal.withSession { _, terminal, session in
        let offer = try await terminal.begin(session: session)
        await withTaskGroup(of: String.self) { group in
          for _ in 1...2 {
            group.addTask {
              do { return try await terminal.step(offer).text } catch { return "\(error)" }
            }
          }
          #expect(await group.next()?.contains("another request waits for this pairing") == true)
          terminal.peer.close()
        }
      }
    }

    @Test func `the code of a closed session is not used up`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        let offer = try await terminal.begin(session: session)
        try await relay.messenger.say("/close", id: "close")
        _ = await relay.messenger.waitForOutcome(of: "close")
        try await relay.messenger.say("/pair \(offer.code)", id: "1", from: Self.ann)
        await relay.messenger.waitForText("The pairing is not possible now: the session was closed")
        #expect(try await terminal.ask(PairingListRequest()).pairings.isEmpty)
      }
    }

    @Test func `a revocation counts at once, for what waits and after a restart`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        try await terminal.pair(session: session, at: relay)
        try await relay.messenger.say("/slow 400", id: "slow", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.waitForText("The quick", in: "dm-mallory")
        try await relay.messenger.say("waits", id: "waits", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.waitForText("Queued", in: "dm-mallory")
        let revoked = try await terminal.ask(PairingRevokeRequest(session: session)).revoked
        #expect(revoked.map(\.person) == [Self.stranger])
        #expect(await relay.messenger.waitForOutcome(of: "waits") == .stopped)
        let said = await Self.texts(relay)
        #expect(said.last == "You are no longer paired with the session work.", "\(said)")
        #expect(try await relay.messenger.say("hi", id: "hi", in: "dm-mallory", from: Self.stranger).refused == true)
        try await relay.goThrough(.kill)
        #expect(try await relay.messenger.say("hi", id: "hi2", in: "dm-mallory", from: Self.stranger).refused == true)
        try await relay.messenger.say("again", id: "again")
        #expect(await relay.messenger.waitForOutcome(of: "again") == .answered)
        // Nothing of the session has come since.
        let since = await Self.texts(relay).filter { !said.contains($0) && $0 != "Not authorized." }
        #expect(since.isEmpty, "\(since)")
      }
    }

    @Test func `a question of the session is withdrawn from a conversation whose pairing ends`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        try await terminal.pair(session: session, at: relay)
        try await relay.messenger.say("/select", id: "ask", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.wait { $0.questions.contains { $0.conversation == "dm-mallory" } }
        try await relay.messenger.say("/disconnect", id: "leave", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.wait { !$0.questions.contains { $0.conversation == "dm-mallory" } }
        await relay.messenger.waitForText("You are no longer paired with the session work", in: "dm-mallory")
        #expect(try await relay.messenger.say("1", id: "late", in: "dm-mallory", from: Self.stranger).refused == true)
        #expect(try await terminal.ask(PairingListRequest()).pairings.isEmpty)
      }
    }

    @Test func `leaving one of two paired sessions keeps the other`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        try await relay.messenger.say("/new other", id: "other")
        _ = await relay.messenger.waitForOutcome(of: "other")
        let other = try #require(try await relay.status().sessions.first { $0.id != session })
        try await terminal.pair(session: session, id: "first", at: relay)
        try await terminal.pair(session: other.id, id: "second", at: relay)
        try await relay.messenger.say("/disconnect", id: "leave", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.waitForText("You are no longer paired with the session other", in: "dm-mallory")
        // Nothing is guessed.
        try await relay.messenger.say("hello", id: "none", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.waitForText("You talk to no session. Choose one with /use", in: "dm-mallory")
        try await relay.messenger.say("/use work", id: "use", in: "dm-mallory", from: Self.stranger)
        try await relay.messenger.say("hello", id: "hello", in: "dm-mallory", from: Self.stranger)
        #expect(await relay.messenger.waitForOutcome(of: "hello") == .answered)
      }
    }

    @Test func `a messenger with links gets a code of its own for them, as a picture too`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.pairingLink = "https://chat.example/relay_bot?start={code}"
      try await PairingTerminal.withSession(capabilities: capabilities) { relay, terminal, session in
        let offer = try await terminal.begin(session: session)
        let link = try #require(offer.link)
        let token = try #require(link.split(separator: "=").last.map(String.init))
        #expect(link.hasPrefix("https://chat.example/relay_bot?start=") && token.utf8.count == 43)
        #expect(
          offer.lines.contains { $0.contains("▀") } && offer.lines.contains { $0.contains("/pair \(offer.code)") })
        try await relay.messenger.say("/start \(token)", id: "1", in: "dm-mallory", from: Self.stranger)
        #expect(try await terminal.step(offer).kind == .asked)
      }
    }

    @Test func `pair asks in its terminal, and refuses where there is none`() async throws {
      try await RelayFixture.run(config: "messengers: {fake: {default: {}}}") { relay in
        func pair(
          _ program: String, _ arguments: [String], id: String,
          _ answers: @escaping @Sendable (String, (String) -> Void) -> Void
        )
          async throws -> Command
        {
          let sent = Locked(false)
          return try await Command.converse(
            program, arguments, environment: ["PI_RELAY_HOME": relay.home.path, "PATH": "/usr/bin:/bin"]
          ) {
            line, type in
            if let start = line.firstRange(of: "/pair "),
              !sent.withLock({ sent in
                defer { sent = true }; return sent
              })
            {
              let code = String(line[start.upperBound...].prefix(7))
              Task { try await relay.messenger.say("/pair \(code)", id: id, in: "dm-mallory", from: Self.stranger) }
            }
            answers(line, type)
          }
        }
        await relay.messenger.wait { $0.generation > 0 }
        try await relay.waitForLog("admits nobody")
        let refused = try await pair(Built.executable("pi-relayd"), ["pair", "fake"], id: "1") { _, _ in }
        #expect(
          refused.exit == .exited(1) && refused.errors.contains { $0.contains("Nobody can be asked here") },
          "\(refused)")
        let paired = try await pair(
          "/usr/bin/script", ["-qec", "\(Built.executable("pi-relayd")) pair fake", "/dev/null"], id: "2"
        ) { line, type in
          // The questions end no line: both are answered with the code.
          if line.contains("works once") { type("y\nn") }
        }
        #expect(
          paired.exit == .exited(0) && paired.output.contains { $0.contains("is paired with this bot") }, "\(paired)")
        let listed = try await relay.command("trusted")
        #expect(listed.output == ["Ann (mallory) on fake/default, paired with sessions of their own"])
        #expect(try await relay.command("untrust", "fake", "mallory").exit == .exited(1))
        let ended = try await relay.command("unpair", "--user", "mallory")
        #expect(ended.output == ["Ann (mallory) is no longer paired."])
        #expect(
          try await relay.command("pair", "nowhere").errors == [
            "pi-relayd: messenger: nowhere is not connected, or names several; there are: fake:default"
          ])
      }
    }
  }
}
