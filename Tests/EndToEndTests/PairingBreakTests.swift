import ControlServer
import FoundationEssentials
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Pairings while the daemon ends, and what is open when they end.
  @Suite struct PairingBreakTests {
    private static let stranger = "mallory"

    /// Every byte of the daemon's files.
    private static func bytes(of home: HomeDirectory) throws -> [UInt8] {
      try FileManager.default.subpathsOfDirectory(atPath: home.path)
        .compactMap { FileManager.default.contents(atPath: "\(home.path)/\($0)") }.flatMap { Array($0) }
    }

    @Test func `no code is written down, and a restart voids those that are open`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.pairingLink = "https://chat.example/relay_bot?start={code}"
      try await PairingTerminal.withSession(capabilities: capabilities) { relay, terminal, session in
        let (used, open) = (try await terminal.begin(session: session), try await terminal.begin())
        try await relay.messenger.say("/pair \(used.code)", id: "1", in: "dm-mallory", from: Self.stranger)
        #expect(try await terminal.step(used).kind == .asked)
        _ = try await terminal.decide(.once, used)
        #expect(try await terminal.step(used).kind == .paired)
        let tokens = try [used, open].map { try #require($0.link?.split(separator: "=").last.map(String.init)) }
        try await relay.killAndStart()
        for (number, code) in ([used.code, open.code] + tokens).enumerated() {
          try await relay.messenger.say("/start \(code)", id: "r\(number)", in: "dm-\(number)", from: "p\(number)")
          await relay.messenger.waitForText("There is no such code", in: "dm-\(number)")
        }
        let written = try Self.bytes(of: relay.home)
        #expect(written.firstRange(of: Array(Self.stranger.utf8)) != nil, "the pairing is")
        for code in [used.code, open.code] + tokens {
          #expect(written.firstRange(of: Array(code.utf8)) == nil, "\(code)")
        }
        #expect(!relay.log.contains { $0.contains(used.code) || $0.contains(open.code) || $0.contains(tokens[0]) })
      }
    }

    /// The moment at which the daemon is killed.
    private enum Moment: CaseIterable { case atOnce, whenListed, whenAnswered, whenTold }

    @Test func `a daemon that is killed after the confirmation has paired the person as a whole or not at all`()
      async throws
    {
      try await PairingTerminal.withSession { relay, _, session in
        for moment in Moment.allCases {
          let (person, place) = ("p-\(moment)", "dm-\(moment)")
          let (terminal, other) = (try PairingTerminal(relay), try PairingTerminal(relay))
          let offer = try await terminal.begin(session: session)
          try await relay.messenger.say("/pair \(offer.code)", id: "code \(moment)", in: place, from: person)
          #expect(try await terminal.step(offer).kind == .asked)
          let decision = Task { try await terminal.decide(.once, offer) }
          switch moment {
          case .atOnce: break
          case .whenListed: while try await !other.persons.contains(person) {}
          case .whenAnswered: _ = try await decision.value
          case .whenTold: await relay.messenger.waitForText("You are paired with", in: place)
          }
          try await relay.killAndStart()
          let wasAnswered = (try? await decision.value) != nil
          let isPaired = try await PairingTerminal(relay).persons.contains(person)
          #expect(isPaired || moment == .atOnce && !wasAnswered, "\(moment)")
          let reply = try await relay.messenger.say("hello", id: "hello \(moment)", in: place, from: person)
          #expect(reply.stored == isPaired && (reply.refused == true) == !isPaired, "\(moment)")
          // It talks to the session at once.
          if isPaired { await relay.messenger.waitForText("You wrote: hello", in: place) }
        }
        #expect(try await relay.status().sessions.map(\.id) == [session])
      }
    }

    @Test func `a revocation withdraws an approval, and the call is not made`() async throws {
      let folder = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/extension"
      try await PairingTerminal.withSession(
        approvals: "approvals: {enabled: true, rules: [{id: push, categories: [git-remote]}]}",
        pi: "extension: \(folder)", capabilities: FakeMessenger.withButtons
      ) { relay, terminal, session in
        try await terminal.pair(session: session, at: relay)
        try await relay.messenger.say("/bash git push", id: "push", in: "dm-mallory", from: Self.stranger)
        await relay.messenger.wait { $0.questions.contains { $0.conversation == "dm-mallory" && $0.buttons != nil } }
        let question = try #require(await relay.messenger.questions.last)
        let button = try #require(question.buttons?.joined().first { $0.label.contains("Approve") })
        _ = try await terminal.ask(PairingRevokeRequest(user: Self.stranger))
        await relay.messenger.wait { !$0.questions.contains { $0.conversation == "dm-mallory" } }
        let late = try await relay.messenger.request(
          ActionInvoked(
            id: "late", conversation: Conversation(id: "dm-mallory"), sender: Sender(id: Self.stranger, name: "Ann"),
            action: button.id))
        #expect(late.refused == true)
        // The run has ended without it, and the session goes on.
        try await relay.messenger.say("after", id: "after")
        #expect(await relay.messenger.waitForOutcome(of: "after") == .answered)
        #expect(await !relay.messenger.messages.contains { $0.text.contains("I pretended to run") })
      }
    }

    @Test func `the end of a configured person's pairing takes the session from that conversation`() async throws {
      try await PairingTerminal.withSession { relay, terminal, session in
        let offer = try await terminal.begin(session: session)
        try await relay.messenger.say("/pair \(offer.code)", id: "code", in: "dm-ann", from: "u1")
        #expect(try await terminal.step(offer).kind == .paired)
        try await relay.messenger.say("one", id: "one", in: "dm-ann", from: "u1")
        #expect(await relay.messenger.waitForOutcome(of: "one") == .answered)
        #expect(try await relay.status().sessions.map(\.id) == [session])
        _ = try await terminal.ask(PairingRevokeRequest(user: "u1"))
        try await relay.messenger.say("two", id: "two", in: "dm-ann", from: "u1")
        #expect(await relay.messenger.waitForOutcome(of: "two") == .answered)
        #expect(try await relay.status().sessions.count == 2)
      }
    }
  }
}
