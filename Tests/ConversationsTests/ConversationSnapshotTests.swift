import MessageDelivery
import RelayJSON
import RelayModel
import RelayWire
import Testing

@testable import Conversations

@Suite struct ConversationSnapshotTests {
  @Test func `the next program gets everything that is in progress`() throws {
    let key = ConversationKey(instance: "i", conversation: "c")
    let sent = { (name: String) in MessageSender.Sent(key: "key-\(name)", message: name) }
    var answer = AnswerBuffer()
    answer.append("half")
    answer.beginMessage(sent("answer"), showing: "half", mark: MessageSender.repeatMark, grows: true)
    var tools = ToolProgress()
    tools.startTool("1", FormatTool.Call(name: "bash", arguments: .null))
    tools.show("1", sent("tool"))
    var questions = ShownQuestions()
    questions.show("q", sent("question"))
    var display = RunDisplay()
    let elsewhere = ConversationKey(instance: "i", conversation: "elsewhere")
    display.beginRun(MessageKey(conversation: elsewhere, id: "1"), text: "hello", in: key)
    display.becomeIncomplete()
    let handover = ConversationSnapshot(
      key: key, conversation: Conversation(id: "c", kind: .dm), session: "s", view: nil, capabilities: Capabilities(),
      settings: ConversationOutput.Settings(), answer: answer, tools: tools, questions: questions, display: display)
    #expect(handover.keys == ["key-answer", "key-tool", "key-question"])
    let next = try JSONCoding.decode(ConversationSnapshot.self, from: try JSONCoding.encode(handover))
    #expect(next.answer == answer)
    #expect(next.tools == tools)
    #expect(next.questions == questions)
    #expect(next.display == display)
    #expect(next.keys == handover.keys)
  }
}
