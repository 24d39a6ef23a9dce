import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Conversations that only look in on sessions: writing begins nothing there.
  @Suite struct ControlModeTests {
    private static let config = """
      messengers:
        fake:
          default:
            auth: {users: [u1, u2]}
            conversations: {dm: {use: control}}
      """

    @Test func `people are not asked to write in conversations where writing begins no session`() async throws {
      try await RelayFixture.run(config: Self.config) { relay in
        for (number, text) in [
          "hello", "/sessions", "/use", "/status", "/stop", "/compact", "/model", "/name x", "/close",
        ]
        .enumerated() {
          try await relay.messenger.say(text, id: "\(number)")
          _ = await relay.messenger.waitForOutcome(of: "\(number)")
          let answer = await relay.messenger.texts().last ?? ""
          #expect(
            !answer.contains("Write something") && !answer.contains("Your next message starts"), "\(text): \(answer)")
          #expect(answer.contains("/new"), "\(text): \(answer)")
        }
        try await relay.messenger.say("/new shared", id: "new")
        _ = await relay.messenger.waitForOutcome(of: "new")
        try await relay.messenger.say("/use shared", id: "use", in: "c2", from: "u2")
        await relay.messenger.waitForText("You now talk to shared", in: "c2")
        try await relay.messenger.say("/close", id: "close")
        await relay.messenger.waitForText("The session shared was closed elsewhere.", in: "c2")
        let notice = await relay.messenger.texts(in: "c2").last ?? ""
        #expect(!notice.contains("Your next message starts") && notice.contains("/sessions"), "\(notice)")
      }
    }

    @Test func `people are asked to write in conversations where writing begins a session`() async throws {
      try await RelayFixture.run { relay in
        for (number, text) in ["/sessions", "/status"].enumerated() {
          try await relay.messenger.say(text, id: "\(number)")
          _ = await relay.messenger.waitForOutcome(of: "\(number)")
          #expect(await relay.messenger.texts().last?.contains("Write something to begin one") == true)
        }
      }
    }

    @Test func `text that a person typed elsewhere is shown as the user's words`() async throws {
      try await RelayFixture.run(config: Self.config) { relay in
        try await relay.messenger.say("/new shared", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.messenger.say("/use shared", id: "2", in: "c2", from: "u2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        try await relay.messenger.say("look here", id: "3")
        await relay.messenger.waitForText("You wrote: look here", in: "c2")
        #expect(await relay.messenger.texts(in: "c2", role: .echo) == ["▶ USER: look here"])
        #expect(await relay.messenger.texts(in: "c1", role: .echo).isEmpty)
      }
    }
  }
}
