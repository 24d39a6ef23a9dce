import MessageDelivery
import RelayText
import RelayWire
import Testing

@testable import Conversations

@Suite struct AnswerBufferTests {
  @Test func `a partial line is not lost when the finished message differs`() {
    let redaction = Redactor(["ACME-[0-9]{6}"])
    var answer = AnswerBuffer()
    answer.append("one\ntwo ACME-123456", through: redaction)
    answer.complete(with: "", through: redaction)
    #expect(answer.source == "one\ntwo [redacted]")
    // Switched off by the next program.
    var other = AnswerBuffer()
    other.append("half ", through: redaction)
    other.append("a line\n", through: Redactor([]))
    #expect(other.source == "half a line\n")
  }

  @Test func `a growing answer is shown by whole lines only`() {
    let redaction = Redactor(["ACME-[0-9]{6}"])
    var answer = AnswerBuffer()
    for piece in ["first ACME-", "123", "456 li", "ne\nsecond AC"] { answer.append(piece, through: redaction) }
    #expect(answer.source == "first [redacted] line\n")
    #expect(!answer.isEmpty)
    answer.append("ME-654321", through: redaction)
    var stopped = answer
    stopped.release(through: redaction)
    #expect(stopped.source == "first [redacted] line\nsecond [redacted]")
    answer.complete(with: redaction.apply(to: "first ACME-123456 line\nsecond ACME-654321 end"), through: redaction)
    #expect(answer.source == "first [redacted] line\nsecond [redacted] end")
  }

  @Test func `with the usual patterns a growing answer is shown by words, and never a part of a secret`() {
    let redaction = Redactor(["usual"])
    let begin = "-----BEGIN " + "PRIVATE KEY-----"
    let end = "-----END " + "PRIVATE KEY-----"
    let text =
      "one two three pass" + "word = hunter2222 four five six seven eight\nkey:\n\(begin)\nMIIB\n\(end)\nand the end"
    var answer = AnswerBuffer()
    var shown: [String] = []
    for character in text {
      answer.append(String(character), through: redaction)
      shown.append(answer.source)
    }
    let whole = redaction.apply(to: text)
    #expect(shown.contains("one two three "))
    #expect(shown.allSatisfy(whole.hasPrefix))
    answer.complete(with: whole, through: redaction)
    #expect(answer.source == whole)
    #expect(!answer.isReplaced)
    #expect(whole.contains("three [redacted] four") && !whole.contains("MIIB"))
  }

  @Test func `without patterns a growing answer is shown as it arrives`() {
    var answer = AnswerBuffer()
    answer.append("half a li", through: Redactor([]))
    #expect(answer.source == "half a li")
  }

  @Test func `a fixed piece leaves the rest, with the markup to reopen, for the next message`() {
    var answer = AnswerBuffer()
    answer.append("```\none\ntwo")
    answer.beginMessage(.init(key: "k", message: "m"), showing: "x", mark: "", grows: true)
    #expect(answer.message == "m")
    #expect(answer.key == "k")
    answer.fix(FormatRender.Piece(text: "```\none\n```", consumed: 8), after: 0)
    answer.reopen(with: "```\n")
    #expect(answer.source == "```\ntwo")
    #expect(answer.message == nil)
    #expect(answer.key == nil)
    #expect(!answer.isReplaced)
    answer.complete(with: "another text", through: Redactor([]))
    #expect(answer.source == "```\ntwo")
  }

  @Test func `the final message replaces deltas that differ, before anything is fixed`() {
    var answer = AnswerBuffer()
    answer.append("one")
    answer.beginFlush()
    #expect(!answer.wantsEdit)
    answer.complete(with: "other", through: Redactor([]))
    #expect(answer.source == "other")
    #expect(answer.isReplaced)
    #expect(answer.wantsEdit)
  }

  @Test func `a text that could not be sent twice is not tried a third time, and a longer one is marked`() {
    var answer = AnswerBuffer()
    answer.append("one")
    #expect(answer.markForNew("one") == "")
    answer.beginMessage(nil, showing: "one", mark: "", grows: true)
    #expect(answer.editsRejected)
    #expect(!answer.wantsEdit)
    #expect(answer.markForNew("one") == nil)
    #expect(answer.markForNew("one two") == MessageSender.repeatMark)
    answer.beginMessage(.init(key: "k", message: "m"), showing: "one two", mark: MessageSender.repeatMark, grows: false)
    #expect(answer.mark == MessageSender.repeatMark)
    #expect(answer.key == nil)
    #expect(answer.shows("one two"))
    answer.startNext()
    #expect(answer.number == 1)
    #expect(answer.markForNew("one") == "")
    #expect(answer.isEmpty)
  }

  @Test(arguments: [false, true])
  func `a message that may be a repeat keeps its mark`(mayBeRepeat: Bool) {
    var answer = AnswerBuffer()
    answer.restore(.init(key: "k", message: "m", mayBeRepeat: mayBeRepeat), text: "one")
    #expect(answer.mark == (mayBeRepeat ? MessageSender.repeatMark : ""))
    #expect(answer.source == "one")
    #expect(answer.number == 1)
    answer.edited(to: "one")
    #expect(answer.shows("one"))
    answer.endGrowth()
    #expect(answer.key == nil)
  }
}
