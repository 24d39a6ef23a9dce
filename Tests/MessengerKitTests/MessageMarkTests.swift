import MessengerKit
import PluginSDK
import Testing

@Suite struct MessageMarkTests {
  private func marks(_ settings: JSONValue) throws -> MessageMarks { try settings.settings(as: MessageMarks.self) }

  private func end(_ outcome: MessageSettled.Outcome, of message: String = "7") -> MessageSettled {
    MessageSettled(conversation: "c", message: message, outcome: outcome)
  }

  @Test func `without settings a stored message is marked and its end is not`() {
    let marks = MessageMarks()
    #expect(marks.afterStoring == "👀")
    for outcome in [MessageSettled.Outcome.answered, .handled, .failed, .stopped] {
      #expect(marks.after(end(outcome)) == nil)
    }
  }

  @Test func `the marks are those of the settings, and an empty one is none`() throws {
    let marks = try marks(["accepted": "", "answered": "✅", "failed": "❌"])
    #expect(marks.afterStoring == nil)
    #expect(marks.after(end(.answered)) == "✅" && marks.after(end(.handled)) == "✅")
    #expect(marks.after(end(.failed)) == "❌" && marks.after(end(.stopped)) == "❌")
    #expect(try self.marks(["answered": ""]).after(end(.answered)) == nil)
  }

  @Test(arguments: ["command:7", "action:7", "heartbeat:7"])
  func `ends of what is no message on the service are not marked`(message: String) throws {
    let marks = try marks(["answered": "✅"])
    #expect(marks.after(end(.answered, of: message)) == nil)
    #expect(end(.answered, of: message).isOfInteraction == !message.hasPrefix("heartbeat"))
  }
}
