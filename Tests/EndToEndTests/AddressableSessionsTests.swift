import ChatCommands
import ControlServer
import FoundationEssentials
import RelayHome
import RelayModel
import RelayStore
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  @Suite struct AddressableSessionsTests {
    /// The owner's private session is named after this person, and works in this folder.
    private static let ownersName = "Quillon"
    private static let folder = "quillons-letters"

    private static func config(_ root: String) -> String {
      """
      assistant: {directory: \(root)/\(folder), sessionDirectory: \(root)/kept, owner: u2}
      messengers:
        fake:
          default:
            auth: {users: [u1, u2]}
            conversations: {dm: {use: assistant}}
      """
    }

    private static func say(
      _ text: String, id: String, in place: Conversation, from sender: Sender, at relay: RelayFixture
    ) async throws {
      _ = try await relay.messenger.request(
        MessageReceived(id: id, conversation: place, sender: sender, text: text))
      _ = await relay.messenger.waitForOutcome(of: id)
    }

    private static func withOwnersSession(
      _ body: (_ relay: RelayFixture, _ ownersSession: String) async throws -> Void
    ) async throws {
      let root = try TemporaryFolder()
      var capabilities = FakeMessenger.withButtons
      capabilities.presence = true
      try await RelayFixture.run(config: config(root.path), capabilities: capabilities) { relay in
        try await say(
          "hello", id: "owners", in: Conversation(id: "c2", kind: .dm), from: Sender(id: "u2", name: ownersName),
          at: relay)
        let session = try #require(try await relay.status().sessions.first)
        #expect(session.name == ownersName)
        try await body(relay, session.id)
      }
    }

    @Test func `no command and no completion shows another person's assistant session`() async throws {
      try await Self.withOwnersSession { relay, owners in
        let guest = Sender(id: "u1", name: "Ann")
        let here = Conversation(id: "c1", kind: .channel)
        func isSecret(_ text: String) -> Bool {
          [Self.ownersName, Self.folder, owners].contains { text.lowercased().contains($0.lowercased()) }
        }
        try await Self.say("begin", id: "begin", in: here, from: guest, at: relay)
        try await Self.say("/sessions", id: "count", in: here, from: guest, at: relay)
        #expect(await relay.messenger.texts(in: "c1").last?.hasPrefix("Sessions (1):\n1. ") == true)
        for command in CommandRegistry.menu.map(\.name) {
          // Closed or left by the command before, it is begun again.
          try await Self.say("begin again", id: "begin-\(command)", in: here, from: guest, at: relay)
          for (number, argument) in ["", "1", "2", "3"].enumerated() {
            try await Self.say(
              "/\(command) \(argument)", id: "\(command)-\(number)", in: here, from: guest, at: relay)
          }
          for text in ["/\(command.prefix(2))", "/\(command)", "/\(command) ", "/\(command) q"] {
            let reply = try await relay.messenger.request(
              CommandComplete(conversation: here, sender: guest, text: text))
            #expect(reply.completions.allSatisfy { !isSecret($0) }, "\(text)")
          }
        }
        for message in await relay.messenger.messages where message.conversation == "c1" {
          #expect(message.history.allSatisfy { !isSecret($0) }, "\(message.text)")
          for button in (message.buttons ?? []).joined() { #expect(!isSecret(button.id + button.label)) }
        }
        // The bot's activity is seen by everybody.
        #expect(await relay.messenger.presences.allSatisfy { $0.map { !isSecret($0) } ?? true })
      }
    }

    @Test func `another person's assistant session is refused with the message for an unknown session`()
      async throws
    {
      try await Self.withOwnersSession { relay, owners in
        let guest = Sender(id: "u1", name: "Ann")
        let here = Conversation(id: "c1", kind: .channel)
        try await Self.say("begin", id: "begin", in: here, from: guest, at: relay)
        // As many letters, so that what is shortened is shortened alike.
        let pairs = [
          (owners, "00000000-0000-4000-8000-000000000000"), (String(owners.prefix(8)), "00000000"),
          (Self.ownersName, "Nobody."), (String(Self.ownersName.prefix(3)), "Nob"), ("2", "7"),
        ]
        for (number, (known, unknown)) in pairs.enumerated() {
          try await Self.say("/use \(known)", id: "known-\(number)", in: here, from: guest, at: relay)
          let refusal = await relay.messenger.texts(in: "c1").last
          try await Self.say("/use \(unknown)", id: "unknown-\(number)", in: here, from: guest, at: relay)
          let expected = await relay.messenger.texts(in: "c1").last
          #expect(expected?.hasPrefix("There is no session \"\(unknown)\"") == true)
          #expect(refusal?.replacing(known, with: unknown) == expected)
        }
        // A button of an old menu.
        for (number, id) in [owners, pairs[0].1].enumerated() {
          try await relay.messenger.press("use:\(id)", id: "press-\(number)", in: "c1")
          _ = await relay.messenger.waitForOutcome(of: "action:press-\(number)")
        }
        let texts = await relay.messenger.texts(in: "c1").suffix(2).map { $0 }
        #expect(texts.first?.replacing(owners, with: pairs[0].1) == texts.last)
        #expect(texts.last?.hasPrefix("There is no session") == true)
      }
    }

    @Test func `a person returns to the assistant session of the own conversation by the list's number`() async throws {
      try await Self.withOwnersSession { relay, _ in
        let owner = Sender(id: "u2", name: Self.ownersName)
        let guest = Sender(id: "u1", name: "Ann")
        let mine = Conversation(id: "c2", kind: .dm)
        try await Self.say("hello", id: "guests", in: Conversation(id: "c3", kind: .dm), from: guest, at: relay)
        try await Self.say("/new work", id: "1", in: mine, from: owner, at: relay)
        try await Self.say("/sessions", id: "2", in: mine, from: owner, at: relay)
        let list = try #require(await relay.messenger.texts(in: "c2").last)
        #expect(list.hasPrefix("Sessions (2):\n1. \(Self.ownersName)") && list.contains("\n2. work"))
        try await Self.say("/use 1", id: "3", in: mine, from: owner, at: relay)
        #expect(await relay.messenger.texts(in: "c2").last?.hasPrefix("You now talk to \(Self.ownersName)") == true)
        // Names that only others see are free.
        try await Self.say("/new Ann", id: "4", in: mine, from: owner, at: relay)
        #expect(await relay.messenger.texts(in: "c2").last?.hasPrefix("New session Ann in") == true)
        // Where two have one name, the number decides.
        try await Self.say("/use Ann", id: "5", in: Conversation(id: "c3", kind: .dm), from: guest, at: relay)
        #expect(await relay.messenger.texts(in: "c3").last?.hasPrefix("Several match: 1. Ann, 3. Ann.") == true)
      }
    }

    @Test func `a conversation bound to a foreign assistant session by an earlier version no longer reaches it`()
      async throws
    {
      try await Self.withOwnersSession { relay, owners in
        _ = await relay.stop()
        let here = Conversation(id: "c1", kind: .channel)
        let key = ConversationKey(instance: "fake/default", conversation: here.id)
        try await SQLiteStore(path: relay.home.database).bind(
          Binding(key: key, conversation: here, session: owners), because: nil)
        try await relay.start()
        let guest = Sender(id: "u1", name: "Ann")
        try await Self.say("/status", id: "1", in: here, from: guest, at: relay)
        try await Self.say("what did we say?", id: "2", in: here, from: guest, at: relay)
        #expect(await relay.messenger.texts(in: "c1").allSatisfy { !$0.contains(Self.ownersName) })
        #expect(await relay.messenger.texts(in: "c1").contains { $0.contains(AssistantTests.newcomer) })
        try await Self.say(
          "and we?", id: "3", in: Conversation(id: "c2", kind: .dm), from: Sender(id: "u2", name: Self.ownersName),
          at: relay)
        #expect(await relay.messenger.texts(in: "c2").count { $0.contains(AssistantTests.newcomer) } == 1)
      }
    }
  }
}
