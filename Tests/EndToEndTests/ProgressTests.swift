import FoundationEssentials
import RelayHome
import RelayStore
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// Retries and compactions are told in one message, which says in the end how it went.
  @Suite struct ProgressTests {
    private static let again = "🔁 The model is overloaded: trying again in 1 s, 1 of 3."
    private static let succeeded = "🔁 The model is overloaded: retry 1 of 3 succeeded."

    @Test(arguments: ["current", "cumulative"])
    func `a retry that succeeds leaves one line, which was changed in place`(dialect: String) async throws {
      try await RelayFixture.run(agent: ["--dialect", dialect]) { relay in
        try await relay.messenger.say("/retry 500", id: "1")
        await relay.messenger.waitForText(Self.again)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let notices = await relay.messenger.messages.filter { $0.role == .notice && $0.text.hasPrefix("🔁") }
        #expect(notices.map(\.history) == [[Self.again, Self.succeeded]])
        #expect(notices.allSatisfy { !$0.isGrowing })
        #expect(await relay.messenger.texts(role: .answer) == ["It worked the second time."])
        try await isClean(relay)
      }
    }

    @Test(arguments: [true, nil]) func `retries that fail leave nothing but the error in words`(edit: Bool?)
      async throws
    {
      try await run(edit: edit) { relay in
        try await relay.messenger.say("/fail 3", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        let texts = await relay.messenger.texts().filter { !$0.contains("demo agent") }
        #expect(texts == ["❌ The model is overloaded"])
        try await isClean(relay)
      }
    }

    @Test(arguments: ["/compacting", "/compact"], [true, nil])
    func `a compaction leaves one line with the earlier size of the context`(command: String, edit: Bool?) async throws
    {
      try await run(edit: edit) { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say(command, id: "2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        let notices = await relay.messenger.messages.filter { $0.role == .notice && $0.text.contains("ompact") }
        let end = "🗜️ Context compacted: it had \(command == "/compact" ? "12.3k" : "99") tokens."
        #expect(notices.map(\.text) == [end])
        #expect(notices.first?.history.first == (edit == nil ? end : "🗜️ Compacting the context…"))
        try await isClean(relay)
      }
    }

    @Test func `the progress message of a killed daemon is removed`() async throws {
      try await RelayFixture.run { relay in
        for (number, (command, words)) in [("/compacting 60000", "Compacting the context"), ("/retry 60000", "🔁")]
          .enumerated()
        {
          try await relay.messenger.say(command, id: "\(number)")
          await relay.messenger.waitForText(words)
          try await relay.killAndStart()
          #expect(await relay.messenger.waitForOutcome(of: "\(number)") == .failed)
          #expect(await relay.messenger.texts().allSatisfy { !$0.contains(words) })
        }
        try await isClean(relay)
      }
    }

    @Test func `a run that is stopped during a retry leaves no line of it`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/retry 60000", id: "1")
        await relay.messenger.waitForText("🔁")
        try await relay.messenger.say("/stop", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("🔁") })
        try await isClean(relay)
      }
    }

    @Test func `a messenger that restarts during a retry shows the end in the same message`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/retry 2000", id: "1")
        await relay.messenger.waitForText("🔁")
        try await relay.crash("fake/default")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts().filter { $0.hasPrefix("🔁") } == [Self.succeeded])
      }
    }

    private func run(edit: Bool?, _ body: (RelayFixture) async throws -> Void) async throws {
      var capabilities = FakeMessenger.usual
      capabilities.edit = edit
      try await RelayFixture.run(capabilities: capabilities, body)
    }

    private func isClean(_ relay: RelayFixture) async throws {
      _ = await relay.stop()
      let store = try SQLiteStore(path: relay.home.database)
      #expect(try await store.unfinishedOutbound(of: "fake/default").isEmpty)
      await store.close()
    }
  }
}
