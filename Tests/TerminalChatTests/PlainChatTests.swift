import RelayWire
import Testing

@testable import TerminalChat

@Suite(.timeLimit(.minutes(1))) struct PlainChatTests {
  private let chat = PlainChat(prints: false, environment: [:])

  private func settle(_ message: String, _ outcome: MessageSettled.Outcome) async {
    await chat.settled(MessageSettled(conversation: "terminal", message: message, outcome: outcome))
  }

  @Test func `a turn ends with the outcome of its message`() async {
    async let outcome = chat.turn(after: "1")
    await chat.show(MessageSend(key: "a", conversation: "terminal", text: "hello", role: .answer), id: "a")
    await settle("1", .answered)
    #expect(await outcome == .answered)
    #expect(await chat.answer == "hello")
    #expect(await !chat.hasFailed)
  }

  @Test func `a message that is settled before its turn begins needs no wait`() async {
    await settle("1", .failed)
    #expect(await chat.turn(after: "1") == .failed)
    #expect(await chat.hasFailed)
  }

  @Test func `a growing answer counts once, when it is complete`() async {
    await chat.show(
      MessageSend(key: "a", conversation: "terminal", text: "hel", role: .answer, streaming: true), id: "a")
    await chat.change(MessageEdit(conversation: "terminal", message: "a", text: "hello", streaming: true))
    #expect(await chat.answer == "")
    await chat.change(MessageEdit(conversation: "terminal", message: "a", text: "hello there"))
    #expect(await chat.answer == "hello there")
  }
}
