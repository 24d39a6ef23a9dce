import RelayText
import Testing

@testable import Conversations

@Suite struct StreamedTextTests {
  @Test func `what is withheld is not lost where the whole says something else`() {
    let redaction = Redaction(["ACME-[0-9]{6}"])
    var stream = StreamedText()
    stream.append("one\ntwo ACME-123456", through: redaction)
    stream.complete(with: "", through: redaction)
    #expect(stream.source == "one\ntwo [redacted]")
    // Switched off by the next program.
    var other = StreamedText()
    other.append("half ", through: redaction)
    other.append("a line\n", through: Redaction([]))
    #expect(other.source == "half a line\n")
  }

  @Test func `a growing answer is shown by whole lines, and never more than that`() {
    let redaction = Redaction(["ACME-[0-9]{6}"])
    var stream = StreamedText()
    for piece in ["first ACME-", "123", "456 li", "ne\nsecond AC"] { stream.append(piece, through: redaction) }
    #expect(stream.source == "first [redacted] line\n")
    #expect(!stream.isEmpty)
    stream.append("ME-654321", through: redaction)
    var stopped = stream
    stopped.release(through: redaction)
    #expect(stopped.source == "first [redacted] line\nsecond [redacted]")
    stream.complete(with: redaction.apply(to: "first ACME-123456 line\nsecond ACME-654321 end"), through: redaction)
    #expect(stream.source == "first [redacted] line\nsecond [redacted] end")
  }

  @Test func `without patterns everything is shown as it comes`() {
    var stream = StreamedText()
    stream.append("half a li", through: Redaction([]))
    #expect(stream.source == "half a li")
  }
}
