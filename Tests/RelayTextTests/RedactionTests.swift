import PiRPC
import RelayConcurrency
import RelayWire
import Testing

@testable import RelayText
@testable import Supervisor

@Suite struct RedactionTests {
  private let usual = Redaction(["usual"])

  // Put together, so that no scanner takes them for real.
  @Test(arguments: [
    "123456789:" + "AAE9xKq0Z_abcdefghijklmnop", "sk-" + "proj-abcdefghijklmnop1234", "gh" + "p_abcdefghijklmnop1234",
    "github" + "_pat_11ABCDEFG0abcdefghijkl", "AK" + "IAIOSFODNN7EXAMPLE",
    "ey" + "JhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJ",
    "xo" + "xb-123456789012-abcdef", "M" + "TIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz1",
    "Bearer " + "abcdef0123456789abcdef", "DEPLOY_TOKEN=" + "hunter22",
  ])
  func `tokens of well-known services are taken out`(secret: String) {
    #expect(usual.apply(to: "it is \(secret) she said\nand more") == "it is [redacted] she said\nand more")
  }

  @Test(arguments: [
    "https://x-access-token:" + "gh" + "p_abcdefghijklmnop1234@github.com/a", "token:" + "sk-" + "abcdefghijklmnop1234",
    "Authorization:" + "Bearer abcdef0123456789abcdef", "env:API_KEY=" + "hunter22",
    "https://api.telegram.org/bot" + "123456789:" + "AAE9xKq0Z_abcdefghijklmnop/getMe",
  ])
  func `wherever they stand`(text: String) {
    #expect(usual.apply(to: text).contains("[redacted]"), "\(usual.apply(to: text))")
  }

  @Test func `a line on which a pattern takes too long is taken out whole, and told once`() {
    let told = Locked<[String]>([])
    let redaction = Redaction(["^(a+)+$", "ACME-[0-9]{6}"]) { line in told.withLock { $0.append(line) } }
    let slow = String(repeating: "a", count: 64) + "!"
    let text = "aaaa\n\(slow)\nACME-123456 is \(slow)\n\(slow)"
    #expect(redaction.apply(to: text) == "[redacted]\n[redacted]\n[redacted] is \(slow)\n[redacted]")
    #expect(told.withLock { $0.count } == 1)
    #expect(told.withLock { $0.first }?.contains("^(a+)+$") == true)
  }

  @Test func `a long line costs a pattern no more than a short one`() {
    let line = String(repeating: "word ", count: 50_000) + "ACME-123456"
    #expect(Redaction(["ACME-[0-9]{6}", "usual"]).apply(to: line).hasSuffix("word [redacted]"))
  }

  @Test func `lines may end as elsewhere, and arguments are looked through whole`() {
    let redaction = Redaction(["^private:.*$", "ACME-[0-9]{6}"])
    #expect(redaction.apply(to: "a\r\nprivate: b\r\nc") == "a\r\n[redacted]\r\nc")
    #expect(
      redaction.apply(to: ["command": "echo ACME-123456", "list": ["ACME-654321", 1]] as JSONValue)
        == ["command": "echo [redacted]", "list": ["[redacted]", 1]])
  }

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

  @Test(arguments: [
    "the token: the thing that grants access", "key = value", "a monkey=banana", "12:30 is when it begins",
    "sketch-book", "https://example.org/a_b_c?d=e", "TOKEN=", "",
  ])
  func `prose is left alone`(text: String) {
    #expect(usual.apply(to: text) == text)
  }

  @Test func `patterns of one's own are tried on each line`() {
    let redaction = Redaction(["ACME-[0-9]{6}", "^private:.*$"])
    #expect(
      redaction.apply(to: "ACME-123456 and ACME-12\nprivate: all of it\n\nnot private: this\n")
        == "[redacted] and ACME-12\n[redacted]\n\nnot private: this\n")
    #expect(Redaction([]).isEmpty)
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

  @Test func `a question is looked through before it is cut`() {
    let redaction = Redaction(["ACME-[0-9]{6}"])
    let title = String(repeating: "x", count: 112) + " ACME-123456"
    let dialog = PiDialog(
      id: "1", kind: .select, title: title, options: [String(repeating: "y", count: 70) + " ACME-654321"])
    let record = DialogRecord(id: "1", session: "s", dialog: dialog, isOwn: false, expires: nil)
    let limits = ButtonLimits(rows: 1, perRow: 5, labelLength: 80, idLength: 100)
    let labels = record.buttons(within: limits, through: redaction)?.joined().map(\.label) ?? []
    let closings = [
      record.closing(.unanswered(why: "asked anew"), through: redaction),
      record.closing(.answered(title, by: "Ann"), through: redaction),
    ]
    #expect(redaction.line("ACME-\u{200B}123456\tACME-\n654321") == "[redacted] ACME- 654321")
    for text in labels + closings { #expect(!text.contains("ACME"), "\(text)") }
    #expect(labels == [String(repeating: "y", count: 70) + " [redacted"])
  }
}
