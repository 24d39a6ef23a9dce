import RelayJSON
import RelayWire
import Testing

@testable import Discord

@Suite struct DiscordMessagesTests {
  private let place = Conversation(id: "c", kind: .channel)

  private func message(_ text: String, _ more: [String: JSONValue] = [:]) -> JSONValue {
    let usual: [String: JSONValue] = [
      "id": "5", "content": .string(text), "author": ["id": "7", "username": "ann"],
      "edited_timestamp": "2026-11-22T10:00:00+00:00",
    ]
    return .object(usual.merging(more) { $1 })
  }

  @Test func `the bot's name is left out of new and changed messages`() {
    let mention: [String: JSONValue] = ["mentions": [["id": "42"]]]
    let received = DiscordMessages.received(message("<@42> /stop", mention), in: place, me: "42")
    #expect(received?.text == "/stop" && received?.mention == true)
    #expect(DiscordMessages.edited(message("now <@!42>", mention), in: place, me: "42")?.text == "now")
    // Somebody else's stays.
    #expect(DiscordMessages.received(message("<@7> look", mention), in: place, me: "42")?.text == "<@7> look")
  }

  @Test func `a reply to the bot addresses it, and a reply to others does not`() {
    let reply: (String) -> JSONValue = { self.message("yes", ["referenced_message": ["author": ["id": .string($0)]]]) }
    #expect(DiscordMessages.isAddressed(reply("42"), "42"))
    #expect(!DiscordMessages.isAddressed(reply("7"), "42"))
    #expect(!DiscordMessages.isAddressed(message("<@42>"), nil))
  }
}
