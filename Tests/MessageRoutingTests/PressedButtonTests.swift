import Conversations
import RelayModel
import RelayWire
import Testing

@testable import MessageRouting

/// The words that the press of a button is stored with.
@Suite struct PressedButtonTests {
  private func words(_ button: String, text: String? = nil) -> MessageReceived {
    InboundGate.words(
      of: ActionInvoked(
        id: "7", conversation: Conversation(id: "c1"), sender: Sender(id: "u1", name: "Ann"), action: button, text: text
      ),
      QuestionRegistry())
  }

  @Test(arguments: ["again:m1", "k3v9:0", "anything"])
  func `a button without a question has no text`(button: String) {
    let message = words(button)
    #expect(message.text.isEmpty && message.forwarded == true)
    #expect(MessageOrigin(id: message.id) == .action("7"))
  }

  @Test func `the text of a form is kept`() { #expect(words("k3v9", text: "again: please").text == "again: please") }
}
