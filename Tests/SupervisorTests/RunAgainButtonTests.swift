import RelayModel
import RelayWire
import Testing

@testable import Supervisor

@Suite struct RunAgainButtonTests {
  private let limits = ButtonLimits(rows: 5, perRow: 5, labelLength: 80, idLength: 100)

  @Test func `a message is offered to be run again only where the button's id can name it`() {
    let message = MessageKey(conversation: ConversationKey(instance: "i", conversation: "c"), id: "1234567890")
    #expect(RunAgainButton.buttons(for: message, within: nil) == nil)
    var narrow = limits
    narrow.idLength = 15
    #expect(RunAgainButton.buttons(for: message, within: narrow) == nil)
    narrow.idLength = 16
    #expect(RunAgainButton.buttons(for: message, within: narrow)?.first?.first?.id == "again:1234567890")
  }

  @Test func `a button names its message, and no other button does`() {
    let key = ConversationKey(instance: "i", conversation: "c")
    func message(of button: String) -> MessageKey? {
      RunAgainButton.message(
        of: ActionInvoked(
          id: "1", conversation: Conversation(id: "c"), sender: Sender(id: "u", name: "U"), action: button), key)
    }
    #expect(message(of: "again:7") == MessageKey(conversation: key, id: "7"))
    #expect(message(of: "use:7") == nil)
    #expect(message(of: "q3k:1") == nil)
  }
}
