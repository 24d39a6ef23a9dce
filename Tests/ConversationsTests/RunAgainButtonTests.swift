import Conversations
import RelayModel
import RelayWire
import Testing

@Suite struct RunAgainButtonTests {
  private let message = MessageKey(
    conversation: ConversationKey(instance: "i", conversation: "c"), id: "1234567890")
  private let ann = Sender(id: "1", name: "Ann")

  @Test func `the button to run a message again is offered only when its id can name the message`() {
    var limits = ButtonLimits(rows: 5, perRow: 5, labelLength: 80, idLength: 15)
    #expect(RunAgainButton.rows(for: message, within: nil) == nil)
    #expect(RunAgainButton.rows(for: message, within: limits) == nil)
    limits.idLength = 16
    #expect(RunAgainButton.rows(for: message, within: limits)?.first?.first?.id == "again:1234567890")
  }

  @Test(arguments: ["again:1234567890", "again:", "again", "1234567890", "q:1"])
  func `only the button to run a message again names the message`(id: String) {
    let action = ActionInvoked(
      id: "a", conversation: Conversation(id: "c", kind: .dm), sender: ann, action: id, message: "m")
    let found = RunAgainButton.message(of: action, in: message.conversation)
    #expect(found?.id == (id.hasPrefix("again:") ? String(id.dropFirst(6)) : nil))
  }
}
