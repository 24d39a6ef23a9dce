import ControlServer
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Pairing by `/relay connect`: the extension, in a pi that the test plays, with the whole daemon.
  @Suite(.enabled(if: PlayedPi.node != nil, "there is no Node 20 or later")) struct ExtensionPairingTests {
    private static let trust = "Allow, and do not ask about this person again"

    /// Has the terminal show a code, which a stranger sends.
    private static func begin(_ relay: RelayFixture, _ pi: PlayedPi) async throws {
      let before = pi.lines.all.count
      try pi.tell("relay connect fake phone")
      let shown = { @Sendable (lines: [String]) in
        lines.dropFirst(before).lazy.compactMap { line in
          line.firstRange(of: "/pair ").map { String(line[$0.upperBound...].prefix(7)) }
        }.first
      }
      await pi.lines.wait { shown($0) != nil }
      let code = try #require(shown(pi.lines.all))
      try await relay.messenger.say("/pair \(code)", id: code, in: "dm-mallory", from: "mallory")
    }

    private static func pair(_ relay: RelayFixture, _ pi: PlayedPi, _ choice: String = "Allow") async throws {
      try await begin(relay, pi)
      try pi.tell("choose \(choice)")
      await pi.wait(for: "is paired with the session")
      await pi.wait(for: #"{"entry":"relay-binding""#)
    }

    /// - Returns: false for a message that was refused.
    private static func isAdmitted(_ relay: RelayFixture, _ text: String) async throws -> Bool {
      let reply = try await relay.messenger.say(text, id: text, in: "dm-mallory", from: "mallory")
      guard reply.stored else { return false }
      await relay.messenger.waitForText("You wrote: \(text)", in: "dm-mallory")
      return true
    }

    @Test func `a person is paired with the terminal's session, over restarts of the daemon and of pi`() async throws {
      try await PlayedPi.run { relay, pi in
        try await Self.pair(relay, pi)
        #expect(try await Self.isAdmitted(relay, "one"))
        try await relay.goThrough(.kill)
        #expect(try await Self.isAdmitted(relay, "two"))
        try pi.tell("relay status")
        await pi.wait(for: #"paired: Ann on fake/default (\"phone\")"#)
        // pi's history names neither the account nor the conversation, and has no code.
        let entries = pi.lines.all.filter { $0.contains(#"{"entry":"#) }
        #expect(entries.count == 1 && !entries[0].contains("mallory"), "\(entries)")
        try pi.tell("quit")
        await relay.messenger.waitForText("pi in the terminal has ended", in: "dm-mallory")
        let next = try PlayedPi(relay)
        try next.tell("start")
        await next.wait(for: #"{"entry":"relay-binding""#)
        #expect(try await Self.isAdmitted(relay, "three"))
        await next.wait(for: #"{"message":"three"}"#)
        await next.kill()
      }
    }

    @Test func `a person who is refused in the terminal is not admitted`() async throws {
      try await PlayedPi.run { relay, pi in
        try await Self.begin(relay, pi)
        try pi.tell("choose Refuse")
        await pi.wait(for: "was refused, and the code is void")
        await relay.messenger.waitForText("has refused the pairing", in: "dm-mallory")
        #expect(try await !Self.isAdmitted(relay, "hello"))
      }
    }

    @Test func `a terminal that ends with its question open admits nobody`() async throws {
      try await PlayedPi.run { relay, pi in
        try await Self.begin(relay, pi)
        await relay.messenger.waitForText("Somebody has to confirm it", in: "dm-mallory")
        await pi.kill()
        await relay.messenger.waitForText("Nobody is at the terminal any more", in: "dm-mallory")
        #expect(try await !Self.isAdmitted(relay, "hello"))
      }
    }

    @Test func `the terminal's disconnect ends its pairings`() async throws {
      try await PlayedPi.run { relay, pi in
        try await Self.pair(relay, pi)
        try pi.tell("relay disconnect")
        // The one that was paired, and the one that has chosen the session.
        await pi.wait(for: "It was taken away from 2 chats.")
        await relay.messenger.waitForText("You are no longer paired with the session", in: "dm-mallory")
        #expect(try await !Self.isAdmitted(relay, "hello"))
        #expect(try await relay.ask(PairingListRequest()).pairings.isEmpty)
        await pi.wait(for: #"{"entry":"relay-binding","data":{"version":1,"bindings":[]}}"#)
      }
    }

    @Test func `a trusted person is not asked about again, until that is taken back`() async throws {
      try await PlayedPi.run { relay, pi in
        try await Self.pair(relay, pi, Self.trust)
        try pi.tell("relay trusted")
        await pi.wait(for: "id mallory: trusted")
        try await relay.messenger.say("/disconnect", id: "leave", in: "dm-mallory", from: "mallory")
        await pi.wait(for: "is no longer paired")
        await pi.wait(for: #""bindings":[]"#)
        #expect(try await !Self.isAdmitted(relay, "one"))
        // Nobody chooses anything.
        try await Self.begin(relay, pi)
        await relay.messenger.wait { messenger in
          messenger.messages.count { $0.conversation == "dm-mallory" && $0.text.contains("You are paired with") } == 2
        }
        #expect(try await Self.isAdmitted(relay, "two"))
        try pi.tell("relay untrust fake mallory")
        await pi.wait(for: "mallory is no longer trusted on fake")
        try await Self.begin(relay, pi)
        await relay.messenger.wait { messenger in
          messenger.messages.count { $0.conversation == "dm-mallory" && $0.text.contains("has to confirm it") } == 2
        }
      }
    }
  }
}
