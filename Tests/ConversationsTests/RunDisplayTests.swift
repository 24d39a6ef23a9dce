import RelayModel
import Testing

@testable import Conversations

@Suite struct RunDisplayTests {
  private let here = ConversationKey(instance: "i", conversation: "here")
  private let there = ConversationKey(instance: "i", conversation: "there")

  @Test func `only a message from elsewhere is announced, and once`() {
    var display = RunDisplay()
    display.beginRun(MessageKey(conversation: here, id: "1"), text: "hello", in: here)
    #expect(display.takeEcho() == nil)
    display.beginRun(nil, text: "hello", in: here)
    #expect(display.takeEcho() == nil)
    display.beginRun(MessageKey(conversation: there, id: "1"), text: "hello", in: here)
    #expect(display.takeEcho() == "▶ USER: hello")
    #expect(display.takeEcho() == nil)
    display.beginRun(MessageKey(conversation: here, id: "heartbeat:1"), text: "hello", in: here)
    let echo = display.takeEcho()
    #expect(echo?.hasPrefix("💓") == true)
  }

  @Test(arguments: [RunEnd.completed, .handled, .aborted, .withdrawn, .failed("why")])
  func `a message that was withdrawn elsewhere before it ran is not announced`(end: RunEnd) {
    var display = RunDisplay()
    #expect(display.dropsEcho(of: end) == false)
    display.beginRun(MessageKey(conversation: there, id: "1"), text: "hello", in: here)
    let isUnseen = end == .aborted || end == .withdrawn
    #expect(display.dropsEcho(of: end) == isUnseen)
    let echo = display.takeEcho()
    #expect((echo == nil) == isUnseen)
  }

  @Test func `a run with a missing part is reported once`() {
    var display = RunDisplay()
    #expect(display.endRun() == false)
    display.becomeIncomplete()
    #expect(display.isIncomplete)
    #expect(display.endRun() == true)
    #expect(display.endRun() == false)
  }

  @Test func `the agent is shown as typing once, by the timer of the present run`() {
    var typing = TypingIndicator()
    let first = typing.runBegan()
    typing.stop()
    #expect(typing.runIsSlow(first) == false)
    let second = typing.runBegan()
    #expect(typing.runIsSlow(second) == true)
    #expect(typing.start() == false)
    typing.stop()
    #expect(typing.start() == true)
  }
}
