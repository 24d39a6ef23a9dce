import RelayModel
import Testing

@Suite("origin of a message")
struct MessageOriginTests {
  @Test(
    "an id read back is the origin it was made from",
    arguments: [
      MessageOrigin.written("1322"), .command("77"), .command("x#task"), .action("78"), .action("x#files"),
      .heartbeat("1790000000"), .filesOfAnswer("1322"),
      .firstTask("command:77"), .program("heartbeat:1"),
    ])
  func roundTrip(_ origin: MessageOrigin) {
    #expect(MessageOrigin(id: origin.id) == origin)
  }

  @Test("ids of rows that earlier releases stored keep their meaning")
  func storedIDs() {
    #expect(MessageOrigin(id: "command:5") == .command("5"))
    #expect(MessageOrigin(id: "action:5") == .action("5"))
    #expect(MessageOrigin(id: "heartbeat:5") == .heartbeat("5"))
    #expect(MessageOrigin(id: "5") == .written("5"))
    // Files of an answer and the first task of a session, as earlier releases named them.
    #expect(MessageOrigin(id: "5#files") == .written("5#files"))
    #expect(MessageOrigin(id: "command:5#task") == .command("5#task"))
  }

  @Test("only native commands and buttons are interactions")
  func interactions() {
    #expect(MessageOrigin.command("5").isInteraction)
    #expect(MessageOrigin.action("5").isInteraction)
    for origin in [MessageOrigin.written("5"), .heartbeat("5"), .filesOfAnswer("action:5"), .firstTask("command:5")] {
      #expect(!origin.isInteraction)
    }
  }
}
