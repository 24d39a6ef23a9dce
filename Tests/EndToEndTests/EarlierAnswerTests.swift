import FoundationEssentials
import RelayHome
import RelayWire
import TestSupport
import Testing

@testable import MessageDelivery
@testable import RelayStore

extension EndToEnd.Sessions {
  /// Answers of which an earlier version recorded the key alone, with their words in the checkpoint.
  @Suite struct EarlierAnswerTests {
    private static let key = "11111111-2222-3333-4444-555555555555"
    private static let whole = "The whole answer."

    @Test(arguments: [true, nil], [nil, "The whole", whole])
    func `an answer recorded by its key alone is shown once and whole`(edit: Bool?, shown: String?) async throws {
      var capabilities = FakeMessenger.usual
      capabilities.edit = edit
      // Without edits nothing is ever shown in part.
      let shown = edit == nil ? shown.map { _ in Self.whole } : shown
      try await RelayFixture.run(capabilities: capabilities) { relay in
        try await leave(Self.whole, relay)
        if let shown { await relay.messenger.show(shown, under: Self.key) }
        try await check(relay, answers: [Self.whole])
      }
    }

    @Test func `a long answer recorded by its key alone comes in all its pieces`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.edit = nil
      try await RelayFixture.run(capabilities: capabilities) { relay in
        let words = (1...600).map { "word\($0)" }
        try await leave(words.joined(separator: " "), relay)
        try await relay.start()
        try await relay.messenger.say("/help", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        let answers = await relay.messenger.texts(role: .answer)
        #expect(answers.count > 1)
        #expect(answers.joined(separator: " ").split(separator: " ").map(String.init) == words)
        try await isClean(relay)
      }
    }

    @Test(arguments: [true, nil])
    func `every repeat is marked when no look-up can tell whether the answer arrived`(edit: Bool?) async throws {
      var capabilities = FakeMessenger.usual
      capabilities.edit = edit
      capabilities.idempotencyKey = nil
      capabilities.lookup = nil
      try await RelayFixture.run(capabilities: capabilities) { relay in
        try await leave(Self.whole, relay)
        await relay.messenger.show(Self.whole, under: Self.key)
        await relay.messenger.swallowAnswers(1)
        try await relay.start()
        await relay.messenger.wait { $0.swallowedCount == 1 }
        try await relay.killAndStart()
        let marked = "(possible repeat) \(Self.whole)"
        await relay.messenger.wait { $0.texts(role: .answer).count == 3 }
        try await relay.messenger.say("/help", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        #expect(await relay.messenger.texts(role: .answer) == [Self.whole, marked, marked])
        try await isClean(relay)
      }
    }

    @Test func `a key without text shows nothing and delays nothing`() async throws {
      try await RelayFixture.run { relay in
        try await leave(nil, relay)
        try await check(relay, answers: [])
      }
    }

    /// As a daemon of that version leaves it that ended between the key and the record of the words.
    private func leave(_ text: String?, _ relay: RelayFixture) async throws {
      _ = await relay.stop()
      let connection = try SQLiteConnection(path: relay.home.database)
      try connection.run(
        "INSERT INTO outbound (key, instance, conversation, kind, body, isOpen) VALUES (?, 'fake/default', 'c1', 5, ?, 1)",
        .text(Self.key),
        .text(#"{"key":"\#(Self.key)","conversation":"c1","text":"","role":"answer","streaming":true}"#))
      let checkpoints = StreamCheckpoints(folder: relay.home.streams, logger: .lines { _ in })
      let checkpoint = checkpoints.begin(Self.key)
      if let text { #expect(checkpoint?.write(text) == true) }
    }

    private func check(_ relay: RelayFixture, answers: [String]) async throws {
      try await relay.start()
      // Behind what was left.
      try await relay.messenger.say("/help", id: "1")
      #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
      #expect(await relay.messenger.texts(role: .answer) == answers)
      try await isClean(relay)
    }

    private func isClean(_ relay: RelayFixture) async throws {
      _ = await relay.stop()
      let store = try SQLiteStore(path: relay.home.database)
      #expect(try await store.unfinishedOutbound(of: "fake/default").isEmpty)
      await store.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: relay.home.streams).isEmpty)
    }
  }
}
