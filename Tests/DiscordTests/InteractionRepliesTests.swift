import RelayConcurrency
import RelayJSON
import RelayWire
import TestSupport
import Testing

@testable import Discord
@testable import DiscordAPI

@Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers")) struct InteractionRepliesTests {
  @Test func `an interaction can be answered for fourteen minutes from its arrival, whatever time its id holds`()
    async throws
  {
    try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
      let base = "http://127.0.0.1:\(discord.ports[1])"
      let rest = RESTClient(.init(base: base, token: "the-token", proxy: nil))
      let start = ContinuousClock.now
      let elapsed = Locked(Duration.zero)
      let replies = InteractionReplies(rest, now: { start + elapsed.withLock { $0 } })
      // An id of the year 2015, as by a clock that is years behind.
      let used: JSONValue = [
        "type": 2, "id": "1", "token": "t", "application_id": "1", "channel_id": "700000000000000001",
        "guild_id": "800000000000000001", "data": ["name": "help"], "member": ["user": ["id": "7", "username": "ann"]],
      ]
      let interaction = try #require(Interaction(used))
      await replies.open(interaction, arrived: start, isThere: true)
      try discord.tell(#"{"do": "await", "token": "t"}"#)
      _ = await discord.wait { DiscordLedger($0).all("awaited").isEmpty ? nil : true }
      elapsed.withLock { $0 = InteractionReplies.life - .seconds(1) }
      let message = try #require(try await replies.say(["content": "in time"], to: interaction.key))
      #expect(try await replies.change(message, ["content": "changed in time"]))
      elapsed.withLock { $0 = InteractionReplies.life }
      #expect(try await replies.say(["content": "late"], to: interaction.key) == nil)
      #expect(try await replies.change(message, ["content": "late"]) == false)
      // The server's ledger arrives by a pipe of its own.
      let texts = await discord.wait { printed in
        let texts = DiscordLedger(printed).texts.map(\.text)
        return texts == ["in time"] ? nil : texts
      }
      #expect(texts == ["changed in time"])
    }
  }

  @Test func `an interaction that Discord no longer knows is asked for once`() async throws {
    try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
      let rest = RESTClient(.init(base: "http://127.0.0.1:\(discord.ports[1])", token: "the-token", proxy: nil))
      let replies = InteractionReplies(rest)
      let pressed: JSONValue = [
        "type": 3, "id": "1", "token": "unknown", "application_id": "1", "channel_id": "700000000000000001",
        "guild_id": "800000000000000001", "data": ["custom_id": "x"], "message": ["id": "5", "flags": 64],
        "member": ["user": ["id": "7", "username": "ann"]],
      ]
      let interaction = try #require(Interaction(pressed))
      await replies.open(interaction, arrived: .now, isThere: true)
      #expect(try await replies.change("5", ["content": "late"]) == false)
      #expect(try await replies.say(["content": "late"], to: interaction.key) == nil)
    }
  }
}
