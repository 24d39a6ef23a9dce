import MessageDelivery
import RelayJSON
import RelayWire
import Testing

@testable import Conversations

@Suite struct ToolProgressTests {
  private let call = FormatTool.Call(name: "bash", arguments: ["command": "ls"])
  private let sent = MessageSender.Sent(key: "k", message: "m")

  @Test(arguments: [false, true])
  func `a tool that has ended is shown once, and its progress message is removed`(failed: Bool) {
    var tools = ToolProgress()
    tools.startTool("1", call)
    #expect(tools.call("1") == call)
    tools.show("1", sent)
    #expect(tools.keys == ["k"])
    #expect(tools.endTool("1", name: "bash", failed: failed) == sent)
    #expect(tools.call("1") == nil)
    #expect(tools.message(of: "1") == nil)
    var ended = call
    ended.failed = failed ? true : nil
    #expect(tools.takeFinished() == [ended])
    #expect(tools.takeFinished() == [])
  }

  @Test func `a tool whose start was not seen is shown by its name`() {
    var tools = ToolProgress()
    #expect(tools.endTool("1", name: "read", failed: false) == nil)
    #expect(tools.takeFinished() == [FormatTool.Call(name: "read", arguments: .null)])
  }

  @Test func `the end of a run forgets running tools, and leaving the session forgets all`() {
    var tools = ToolProgress()
    tools.startTool("1", call)
    _ = tools.endTool("2", name: "read", failed: false)
    tools.show("#retry", sent)
    var detached = tools
    tools.runEnded()
    #expect(tools.call("1") == nil)
    #expect(tools.takeFinished() == [FormatTool.Call(name: "read", arguments: .null)])
    detached.detach()
    #expect(detached.call("1") == nil)
    #expect(detached.takeFinished() == [])
    #expect(detached.takeMessages() == [sent])
    #expect(detached.takeMessages() == [])
  }

  @Test func `an open question is closed once`() {
    var questions = ShownQuestions()
    questions.show("1", sent)
    questions.show("2", nil)
    #expect(questions.keys == ["k"])
    #expect(questions.takeMessage(of: "2") == nil)
    #expect(questions.takeMessage(of: "1") == sent)
    #expect(questions.takeMessage(of: "1") == nil)
    questions.show("3", sent)
    let all = questions.takeAll()
    #expect(all.map(\.id) == ["3"])
    #expect(questions.keys.isEmpty)
  }
}
