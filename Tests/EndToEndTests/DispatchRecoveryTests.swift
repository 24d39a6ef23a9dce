import ControlServer
import FoundationEssentials
import Glibc
import RelayHome
import RelayJSON
import RelayStore
import RelayWire
import TestSupport
import Testing

@testable import RelayModel

extension EndToEnd.Sessions {
  /// Messages that an earlier daemon may have given to an agent: the daemon ended after it gave a message, before it
  /// heard that the message was taken.
  @Suite struct DispatchRecoveryTests {
    @Test func `a message in the session's file counts as taken, and is not run again`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        _ = await relay.stop()
        try await leave("hello", as: message("2"), onItsWayTo: session.id, relay)
        try await relay.start()
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        await relay.messenger.waitForText("The agent was interrupted while it worked on this")
        #expect(await relay.messenger.texts(role: .answer).count == 1)
        #expect(try prompts(of: session) == 1)
      }
    }

    @Test func `a message that was withdrawn on its way, and did not arrive, is not run`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let last = try lastEntry(of: session)
        _ = await relay.stop()
        try await leave("never mind", as: message("2"), onItsWayTo: session.id, after: last, isWithdrawn: true, relay)
        try await leave("but this", as: message("3"), onItsWayTo: session.id, after: last, relay)
        try await relay.start()
        #expect(await relay.messenger.waitForOutcome(of: "2") == .stopped)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(await relay.messenger.texts(role: .answer).allSatisfy { !$0.contains("never mind") })
      }
    }

    @Test func `a message that is withdrawn while its agent hangs is not given to the next agent`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let agent = try #require(session.pid)
        kill(agent, SIGSTOP)
        let typing = await relay.messenger.typing.count
        try await relay.messenger.say("never mind", id: "2")
        // The daemon gives the message only once the agent has said where its transcript ends, which it does not.
        await relay.messenger.wait { $0.typing.count > typing }
        _ = try await relay.messenger.request(MessageDeleted(id: "2", conversation: Conversation(id: "c1")))
        await relay.messenger.waitForText("🗑️ The waiting message was withdrawn.")
        kill(agent, SIGKILL)
        let outcome = await relay.messenger.waitForOutcome(of: "2")
        let texts = await relay.messenger.texts()
        #expect(outcome == .stopped, "\(texts), \(relay.log.suffix(8))")
        try await relay.messenger.say("but this", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(await relay.messenger.texts(role: .answer).allSatisfy { !$0.contains("never mind") })
      }
    }

    @Test func `a steering message that was withdrawn before the agent took it is not run`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let agent = try #require(session.pid)
        try await relay.messenger.say("/slow 500", id: "2")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/steer never mind", id: "3")
        await relay.messenger.waitForText("↪️ The working agent has your message.")
        kill(agent, SIGSTOP)
        let change = MessageEdited(
          id: "3", conversation: Conversation(id: "c1"), sender: Sender(id: "u1", name: "Ann"), text: "/steer this")
        _ = try await relay.messenger.request(change)
        await relay.messenger.waitForText("✏️ Too late to change")
        _ = try await relay.messenger.request(MessageDeleted(id: "3", conversation: Conversation(id: "c1")))
        await relay.messenger.waitForText("🗑️ Too late to withdraw")
        kill(agent, SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .stopped)
        try await relay.messenger.say("but this", id: "4")
        #expect(await relay.messenger.waitForOutcome(of: "4") == .answered)
        #expect(await relay.messenger.texts(role: .answer).allSatisfy { !$0.contains("never mind") })
      }
    }

    @Test func `a message of a present messenger leaves the messages of an absent one alone`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let last = try lastEntry(of: session)
        _ = await relay.stop()
        // Of a messenger that does not come back.
        let (held, other) = (message("8", of: "away/default"), message("9", of: "away/default"))
        try await leave("hello", as: held, onItsWayTo: session.id, relay)
        try await leave("the same words", as: other, onItsWayTo: session.id, after: last, relay)
        try await leave("/ping", as: message("10", of: "away/default"), onItsWayTo: session.id, after: last, relay)
        try await relay.start()
        try await relay.messenger.say("the same words", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        _ = await relay.stop()
        let store = try SQLiteStore(path: relay.home.database)
        let stages = try await store.unfinishedMessages(of: "away/default").map(\.stage)
        await store.close()
        // A command leaves no entry, so that nothing is proved.
        #expect(
          stages == [.accepted(session: session.id), .received, .dispatching(session: session.id, after: .unknown)])
      }
    }

    @Test func `a command that leaves no entry is not run again without a question`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let last = try lastEntry(of: session)
        try await relay.messenger.say("/ping", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .handled)
        #expect(try lastEntry(of: session) == last)
        _ = await relay.stop()
        try await leave("/ping again", as: message("3"), onItsWayTo: session.id, after: last, relay)
        let question = "It is not known whether the agent took this message"
        try await relay.start()
        await relay.messenger.waitForText(question)
        // Nor by a daemon after that one.
        try await relay.killAndStart()
        await relay.messenger.waitForText("✖ The question was withdrawn")
        await relay.messenger.wait { $0.questions.contains { $0.text.contains(question) } }
        try await relay.messenger.say("2", id: "4")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .stopped)
        #expect(await relay.messenger.texts().count { $0.contains("pong") } == 1)
      }
    }

    /// A session that has been given "hello".
    private func talk(_ relay: RelayFixture) async throws -> SessionStatus {
      try await relay.messenger.say("hello", id: "1")
      #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      return try #require(try await relay.status().sessions.first)
    }

    private func message(_ id: String, of instance: String = "fake/default") -> MessageKey {
      MessageKey(conversation: ConversationKey(instance: instance, conversation: "c1"), id: id)
    }

    /// - Parameter last: the session's last entry before it was given; empty: it had none.
    private func leave(
      _ text: String, as key: MessageKey, onItsWayTo session: String, after last: String = "",
      isWithdrawn: Bool = false,
      _ relay: RelayFixture
    ) async throws {
      let message = MessageReceived(
        id: key.id, conversation: Conversation(id: "c1", kind: .dm), sender: Sender(id: "u1", name: "Ann"), text: text)
      let store = try SQLiteStore(path: relay.home.database)
      #expect(try await store.accept(StoredMessage(key: key, message: message), state: nil))
      try await store.advance(key, StageChange(.dispatching(after: last.isEmpty ? .empty : .after(last))), in: session)
      if isWithdrawn { try await store.withdraw(key) }
      await store.close()
    }

    private func prompts(of session: SessionStatus) throws -> Int {
      try entries(of: session).count { $0["message"]?["role"] == "user" }
    }

    private func lastEntry(of session: SessionStatus) throws -> String {
      try #require(try entries(of: session).last?["id"]?.stringValue)
    }

    private func entries(of session: SessionStatus) throws -> [JSONValue] {
      let file = FileManager.default.contents(atPath: try #require(session.sessionFile)) ?? Data()
      return try file.split(separator: UInt8(ascii: "\n")).map {
        try JSONCoding.decode(JSONValue.self, from: Array($0))
      }
    }
  }
}
