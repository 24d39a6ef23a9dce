import FoundationEssentials
import RelayHome
import RelayStore
import RelayWire
import TestSupport
import Testing

@testable import MessageDelivery
@testable import RelayModel

extension EndToEnd.Messengers {
  /// Growing messages that the platform refuses, or that crashes interrupt: the text is shown wholly, once or with a mark,
  /// and nothing is left.
  @Suite struct GrowingMessageTests {
    enum Refusal: CaseIterable { case forbidden, gone }

    private static let key = "11111111-2222-3333-4444-555555555555"
    private static let words = (1...900).map { "word\($0)" }

    private static func capabilities(_ idempotent: Bool) -> Capabilities {
      var capabilities = FakeMessenger.usual
      capabilities.idempotencyKey = idempotent ? true : nil
      return capabilities
    }

    @Test(arguments: Refusal.allCases, [true, false])
    func `an answer of several pieces is shown once when its first change is refused`(
      refusal: Refusal, idempotent: Bool
    ) async throws {
      try await RelayFixture.run(capabilities: Self.capabilities(idempotent)) { relay in
        if refusal == .forbidden { await relay.messenger.refuseEdits(100) }
        try await relay.messenger.say("/long 900", id: "1")
        if refusal == .gone { await relay.messenger.removeGrowing() }
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await check(relay, count: 900)
      }
    }

    @Test(arguments: Refusal.allCases, [true, false])
    func `an answer of several pieces is shown once when its last change is refused`(
      refusal: Refusal, idempotent: Bool
    ) async throws {
      try await RelayFixture.run(capabilities: Self.capabilities(idempotent)) { relay in
        let failure = refusal == .gone ? DeliveryFailure.notFound("it is gone") : .forbidden("no edits here")
        await relay.messenger.refuseLastEdits(with: Array(repeating: failure.wireError, count: 100))
        try await relay.messenger.say("/long 900", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await check(relay, count: 900)
      }
    }

    @Test(arguments: Refusal.allCases, [true, false])
    func `the growing message of an earlier daemon is completed when its change is refused`(
      refusal: Refusal, idempotent: Bool
    ) async throws {
      try await RelayFixture.run(capabilities: Self.capabilities(idempotent)) { relay in
        try await leaveGrowing(relay)
        await relay.messenger.show("word1 word2", under: Self.key)
        try await settle(relay)
        if refusal == .forbidden { await relay.messenger.refuseEdits(1) } else { await relay.messenger.removeGrowing() }
        try await relay.start()
        try await relay.messenger.say("/help", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        let shown = await relay.messenger.texts(role: .answer).joined(separator: " ").split(separator: " ")
        #expect(shown.map(String.init) == Self.words)
        try await isClean(relay)
      }
    }

    @Test(arguments: [true, false])
    func `a stored last change that is refused after a crash replaces the growing message`(
      idempotent: Bool
    ) async throws {
      try await RelayFixture.run(capabilities: Self.capabilities(idempotent)) { relay in
        _ = await relay.stop()
        await relay.messenger.show("The first", under: Self.key)
        let message = try #require(await relay.messenger.messages.last).id
        let conversation = ConversationKey(instance: "fake/default", conversation: "c1")
        let edit = MessageEdit(conversation: "c1", message: message, text: "The first piece.")
        let rest = MessageSend(key: "second", conversation: "c1", text: "The second.", role: .answer)
        let store = try SQLiteStore(path: relay.home.database)
        try await store.recordOutbound([
          OutboundRecord(key: "first", conversation: conversation, request: .edit(edit)),
          OutboundRecord(key: "second", conversation: conversation, request: .message(rest)),
        ])
        await store.close()
        await relay.messenger.refuseEdits(1)
        try await relay.start()
        try await relay.messenger.say("/help", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        let mark = idempotent ? "" : MessageSender.repeatMark
        #expect(await relay.messenger.texts(role: .answer) == ["The first piece.", mark + "The second."])
        try await isClean(relay)
      }
    }

    @Test func `a growing message that is given up leaves no file of its text`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.fail(MessageSend.method, with: [DeliveryFailure.invalid("not this").wireError])
        try await relay.messenger.say("/slow 3", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        #expect(try streams(relay).isEmpty)
      }
    }

    @Test func `a growing message that the next daemon gives up leaves no file of its text`() async throws {
      try await RelayFixture.run { relay in
        try await leaveGrowing(relay)
        await relay.messenger.fail(MessageSend.method, with: [DeliveryFailure.invalid("not this").wireError])
        try await relay.start()
        try await relay.messenger.say("/help", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        #expect(try streams(relay).isEmpty)
      }
    }

    @Test func `the mark of a possible repeat is stored before the message is sent`() async throws {
      try await RelayFixture.run(capabilities: Self.capabilities(false)) { relay in
        try await leaveGrowing(relay)
        await relay.messenger.swallowAnswers(1)
        try await relay.start()
        await relay.messenger.wait { $0.swallowedCount == 1 }
        let checkpoints = StreamCheckpoints(folder: relay.home.streams, logger: .lines { _ in })
        #expect(checkpoints.load(Self.key)?.isMarked == true)
      }
    }

    @Test func `a message that may be a repeat is marked after a second crash`() async throws {
      try await RelayFixture.run(capabilities: Self.capabilities(false)) { relay in
        try await leaveGrowing(relay)
        let shown = MessageSender.repeatMark + "word1"
        await relay.messenger.show(shown, under: Self.key)
        try await settle(relay)
        StreamCheckpoints(folder: relay.home.streams, logger: .lines { _ in }).mark(Self.key)
        try await relay.start()
        try await relay.messenger.say("/help", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        let first = try #require(await relay.messenger.messages.first { $0.role == .answer })
        #expect(first.history.first == shown && first.text.hasPrefix(shown + " word2 word3"))
        try await isClean(relay)
      }
    }

    /// As it is stored that the message shown last has arrived.
    private func settle(_ relay: RelayFixture) async throws {
      let message = try #require(await relay.messenger.messages.last).id
      let store = try SQLiteStore(path: relay.home.database)
      store.scheduleSettleOutbound(Self.key, .sent(message: message))
      await store.close()
    }

    /// As a daemon leaves it that was killed in mid-answer.
    private func leaveGrowing(_ relay: RelayFixture) async throws {
      _ = await relay.stop()
      let request = MessageSend(key: Self.key, conversation: "c1", text: "word1", role: .answer, streaming: true)
      let conversation = ConversationKey(instance: "fake/default", conversation: "c1")
      let store = try SQLiteStore(path: relay.home.database)
      try await store.recordOutbound([
        OutboundRecord(key: Self.key, conversation: conversation, request: .message(request))
      ])
      await store.close()
      let checkpoints = StreamCheckpoints(folder: relay.home.streams, logger: .lines { _ in })
      #expect(checkpoints.begin(Self.key)?.write(Self.words.joined(separator: " ")) == true)
    }

    private func check(_ relay: RelayFixture, count: Int) async throws {
      let sentence = "The quick brown fox jumps over the lazy dog while the relay keeps every word in its place."
        .split(separator: " ")
      let shown = await relay.messenger.texts(role: .answer).joined(separator: " ").split(
        whereSeparator: \.isWhitespace)
      #expect(shown == (0..<count).map { sentence[$0 % sentence.count] })
      try await isClean(relay)
    }

    private func isClean(_ relay: RelayFixture) async throws {
      #expect(try streams(relay).isEmpty)
      _ = await relay.stop()
      let store = try SQLiteStore(path: relay.home.database)
      #expect(try await store.unfinishedOutbound(of: "fake/default").isEmpty)
      await store.close()
    }

    private func streams(_ relay: RelayFixture) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: relay.home.streams)
    }
  }
}

extension FakeMessenger {
  fileprivate func refuseEdits(_ count: Int) {
    let refusal = DeliveryFailure.forbidden("no edits here").wireError
    fail(MessageEdit.method, with: Array(repeating: refusal, count: count))
  }

  /// Removes the answer that grows, as soon as there is one.
  fileprivate func removeGrowing() async {
    await wait { messenger in
      guard messenger.messages.contains(where: { $0.isGrowing && $0.role == .answer }) else { return false }
      messenger.removeMessages { $0.isGrowing && $0.role == .answer }
      return true
    }
  }
}
