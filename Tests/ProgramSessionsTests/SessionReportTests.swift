import Conversations
import RelayConcurrency
import RelayJSON
import RelayModel
import RelayWire
import SessionStates
import Testing

@testable import PiRPC
@testable import ProgramSessions

@Suite(.timeLimit(.minutes(1))) struct SessionReportTests {
  private func report(_ event: SessionEvent) -> SessionReport? { SessionReport(.event(event), of: "s1", at: 5) }

  private func key(_ id: String, at instance: String) -> MessageKey {
    MessageKey(conversation: ConversationKey(instance: instance, conversation: "c"), id: id)
  }

  @Test func `a report repeats the beginning of long texts only`() {
    let long = String(repeating: "x", count: 100_000)
    let message = PiMessage(role: "assistant", text: long, stopReason: "stop", errorMessage: nil)
    #expect(
      report(.messageEnded(message))?.data
        == .object([
          "bytes": .integer(100_000), "beginning": .string(String(repeating: "x", count: 500) + "…"),
          "stopReason": "stop",
        ]))
    let arguments = JSONValue.object(["command": .string(long)])
    let tool = report(.toolStarted(id: "1", name: "bash", arguments: arguments))
    #expect((tool?.data["arguments"]?.stringValue ?? long).count == 501)
  }

  @Test func `a message is named by the id that its sender gave it`() {
    let program = report(.runStarted(key("program:build-7", at: ConversationKey.programs), text: "go"))
    #expect(program?.data == .object(["message": "build-7", "text": "go"]))
    let chat = report(.runStarted(key("7", at: "discord/default"), text: "go"))
    #expect(chat?.data == .object(["message": "7", "from": "discord/default", "text": "go"]))
  }

  @Test func `events of the supervisor's own work are not reported`() {
    for event in [SessionEvent.questionsOver, .messageGiven(key("1", at: "fake/default"), text: "")] {
      #expect(report(event) == nil)
    }
  }
}
