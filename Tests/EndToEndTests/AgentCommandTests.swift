import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// The agent's own commands, skills and templates, used where several people write.
  @Suite struct AgentCommandTests {
    private static func say(
      _ text: String, id: String, forwarded: Bool? = nil, replyTo: QuotedMessage? = nil,
      kind: Conversation.Kind = .channel, at relay: RelayFixture
    ) async throws -> String {
      _ = try await relay.messenger.request(
        MessageReceived(
          id: id, conversation: Conversation(id: "c1", kind: kind), sender: Sender(id: "u1", name: "Ann"), text: text,
          replyTo: replyTo, forwarded: forwarded))
      #expect(await relay.messenger.waitForOutcome(of: id) != .failed)
      return await relay.messenger.texts().last ?? ""
    }

    private static func expect(
      _ text: String, id: String, forwarded: Bool? = nil, replyTo: QuotedMessage? = nil,
      kind: Conversation.Kind = .channel, at relay: RelayFixture, isAnswered expected: String
    ) async throws {
      let answer = try await say(text, id: id, forwarded: forwarded, replyTo: replyTo, kind: kind, at: relay)
      #expect(answer.hasPrefix(expected))
    }

    @Test func `an agent's command in a channel reaches it without an author, asleep or awake`() async throws {
      try await RelayFixture.run { relay in
        try await Self.expect("/tool", id: "1", at: relay, isAnswered: "The folder is empty.")
        try await Self.expect("/table", id: "2", at: relay, isAnswered: "Here is a table:")
        // The agent has reported its commands by now.
        _ = try await Self.say("/help", id: "3", at: relay)
        try await Self.expect("/tool", id: "4", at: relay, isAnswered: "The folder is empty.")
        try await Self.expect("/ping", id: "5", at: relay, isAnswered: "✓ Done. The agent gave no answer.")
      }
    }

    @Test func `a skill or a template is passed as typed, and a quotation before it is left out`() async throws {
      try await RelayFixture.run { relay in
        try await Self.expect("/skill:x now", id: "1", at: relay, isAnswered: "You wrote: /skill:x now")
        let quote = QuotedMessage(id: "0", sender: "Bob", text: "another's words")
        try await Self.expect("/tool", id: "2", replyTo: quote, at: relay, isAnswered: "The folder is empty.")
        try await Self.expect(
          "/tool", id: "3", replyTo: quote, kind: .dm, at: relay, isAnswered: "The folder is empty.")
        try await Self.expect(
          "why?", id: "4", replyTo: quote, at: relay,
          isAnswered: "You wrote: [In reply to these words of Bob: \"another's words\"]\n[Ann]: why?")
      }
    }

    @Test func `paths, forwarded text and unknown commands keep their author`() async throws {
      try await RelayFixture.run { relay in
        try await Self.expect("/etc/hosts is odd", id: "1", at: relay, isAnswered: "You wrote: [Ann]: /etc/hosts")
        try await Self.expect(
          "/tool", id: "2", forwarded: true, at: relay,
          isAnswered: "You wrote: [Forwarded words of someone else:]\n[Ann]: /tool")
        // The agent is awake and tells what it knows.
        try await Self.expect("/shrug hi", id: "3", at: relay, isAnswered: "You wrote: [Ann]: /shrug hi")
      }
    }

    @Test func `a waiting message is edited into a command that reaches the agent without an author`() async throws {
      try await RelayFixture.run { relay in
        let place = Conversation(id: "c1", kind: .channel)
        _ = try await relay.messenger.say("/slow 60", id: "1", kind: .channel)
        await relay.messenger.waitForText("The quick")
        _ = try await relay.messenger.say("hello", id: "2", kind: .channel)
        _ = try await relay.messenger.request(
          MessageEdited(id: "2", conversation: place, sender: Sender(id: "u1", name: "Ann"), text: "/tool"))
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts().last == "The folder is empty.")
      }
    }
  }
}
