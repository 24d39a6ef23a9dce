import FoundationEssentials
import RelayStore
import RelayWire
import TestSupport
import Testing

@testable import Supervisor

extension EndToEnd {
  /// Answers whose keys are stored before their words: wherever the daemon ends, they are shown once.
  @Suite struct AnswerReservationTests {
    private static let key = "11111111-2222-3333-4444-555555555555"
    private static let whole = "The whole answer."

    @Test(arguments: [true, nil])
    func `an answer that had not been sent yet is shown by the next daemon`(edit: Bool?) async throws {
      var capabilities = FakeMessenger.usual
      capabilities.edit = edit
      try await RelayFixture.run(capabilities: capabilities) { relay in
        try await leave(Self.whole, relay)
        try await check(relay, answers: [Self.whole])
        #expect(await relay.messenger.messages.allSatisfy { !$0.isGrowing })
      }
    }

    @Test(arguments: [true, nil])
    func `an answer that had arrived is not sent again`(edit: Bool?) async throws {
      var capabilities = FakeMessenger.usual
      capabilities.edit = edit
      try await RelayFixture.run(capabilities: capabilities) { relay in
        try await leave(Self.whole, relay)
        await relay.messenger.show(Self.whole, under: Self.key)
        try await check(relay, answers: [Self.whole])
      }
    }

    @Test func `an answer that had arrived in part is completed`() async throws {
      try await RelayFixture.run { relay in
        try await leave(Self.whole, relay)
        await relay.messenger.show("The whole", under: Self.key)
        try await check(relay, answers: [Self.whole])
      }
    }

    @Test func `where nothing can tell whether it arrived it is sent with a mark`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.idempotencyKey = nil
      capabilities.lookup = nil
      try await RelayFixture.run(capabilities: capabilities) { relay in
        try await leave(Self.whole, relay)
        await relay.messenger.show(Self.whole, under: Self.key)
        try await check(relay, answers: [Self.whole, "(possible repeat) \(Self.whole)"])
      }
    }

    @Test func `a key without words shows nothing and waits for nothing`() async throws {
      try await RelayFixture.run { relay in
        try await leave(nil, relay)
        try await check(relay, answers: [])
      }
    }

    @Test(arguments: [("final", true), ("final", false), ("stream", false)])
    func `an answer whose receipt was lost with the daemon is shown once`(output: String, isRecorded: Bool) async throws
    {
      let config = RelayFixture.usualConfig + "\n      conversations: {c1: {output: \(output)}}\n"
      try await RelayFixture.run(config: config) { relay in
        await relay.messenger.swallowAnswers(1)
        try await relay.messenger.say("/slow 20", id: "1")
        await relay.messenger.wait { $0.swallowedCount == 1 }
        if isRecorded { try await waitForRecord(relay) }
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        try await relay.messenger.say("after", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts(role: .answer).count == 2)
        try await isClean(relay)
      }
    }

    @Test func `what the platform does not take at once is recorded with its words`() async throws {
      let config = RelayFixture.usualConfig + "\n      editIntervalMilliseconds: 2000\n"
      try await RelayFixture.run(config: config) { relay in
        // What follows soon is not shown at once, so that the key is stored before.
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.fail(
          MessageSend.method, with: [DeliveryFailure.rateLimited(retryAfter: 3_600).wireError])
        try await relay.messenger.say("/slow 500", id: "2")
        let store = try SQLiteStore(path: relay.folders.database)
        var words = ""
        while words.isEmpty {
          for unfinished in try await store.unfinishedOutbound(of: "fake/default") {
            if case .message(let message) = unfinished.record.request { words += message.text }
          }
          // Pacing only.
          try await Task.sleep(for: .milliseconds(2))
        }
        #expect(words.hasPrefix("The"))
        #expect(try await store.deliveryCounts().map(\.waiting) == [1])
        await store.close()
      }
    }

    /// As a daemon leaves it that ended between the key and the record of the words.
    private func leave(_ text: String?, _ relay: RelayFixture) async throws {
      _ = await relay.stop()
      let conversation = ConversationKey(instance: "fake/default", conversation: "c1")
      let request = MessageSend(key: Self.key, conversation: "c1", text: "", role: .answer, streaming: true)
      let store = try SQLiteStore(path: relay.folders.database)
      try await store.recordOutbound([
        OutboundRecord(key: Self.key, conversation: conversation, request: .message(request))
      ])
      #expect(try await store.deliveryCounts().allSatisfy { $0.waiting == 0 })
      await store.close()
      let checkpoints = StreamCheckpoints(folder: relay.folders.streams) { _ in }
      let checkpoint = checkpoints.begin(Self.key)
      if let text { #expect(checkpoint?.write(text) == true) }
    }

    private func waitForRecord(_ relay: RelayFixture) async throws {
      let store = try SQLiteStore(path: relay.folders.database)
      // Pacing only.
      while try await store.unfinishedOutbound(of: "fake/default").contains(where: \.record.isReserved) {
        try await Task.sleep(for: .milliseconds(2))
      }
      await store.close()
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
      let store = try SQLiteStore(path: relay.folders.database)
      #expect(try await store.unfinishedOutbound(of: "fake/default").isEmpty)
      await store.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: relay.folders.streams).isEmpty)
    }
  }
}
