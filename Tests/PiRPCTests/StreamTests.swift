import PiRPC
import RelayJSON
import RelayWire
import TestSupport
import Testing

/// Output of pi with other text between, before and after pi's own objects.
@Suite(.timeLimit(.minutes(1))) struct PiStreamTests {
  private static let settled = #"{"type":"agent_settled"}"#
  private static let started = #"{"type":"agent_start"}"#
  private static let delta =
    #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hi"}}"#
  private static let wholeDelta =
    #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hi","partial":{}},"#
    + #""message":{}}"#
  private static let answer = #"{"id":"relay-1","type":"response","command":"get_state","success":true}"#

  /// Lines, and the items found in them.
  static let lines: [(String, [String])] = [
    ("\u{1B}]0;pi – project\u{7}" + settled, ["noise \u{1B}]0;pi – project\u{7}", "agentSettled"]),
    ("\u{1B}[2K\u{1B}[1G" + settled, ["noise \u{1B}[2K\u{1B}[1G", "agentSettled"]),
    ("\u{7}" + delta, ["text hi"]),
    ("loading {model} " + settled, ["noise loading {model} ", "agentSettled"]),
    (settled + "\u{1B}]0;done\u{7}", ["agentSettled", "noise \u{1B}]0;done\u{7}"]),
    (started + settled, ["agentStart", "agentSettled"]),
    (started + " between " + settled, ["agentStart", "noise  between ", "agentSettled"]),
    (delta + settled, ["text hi", "agentSettled"]),
    (delta + delta, ["text hihi"]),
    (wholeDelta + settled, ["text hi", "agentSettled"]),
    (delta + "\u{1B}[0m", ["text hi", "noise \u{1B}[0m"]),
    (answer + settled, ["response relay-1", "agentSettled"]),
    ("\u{1B}[0m" + answer, ["noise \u{1B}[0m", "response relay-1"]),
    // The rest of a process that was killed while it wrote.
    (
      #"{"type":"message_update","assistantMessageEv"# + settled,
      [#"noise {"type":"message_update","assistantMessageEv"#, "agentSettled"]
    ),
    (
      #"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"a \"b"# + started,
      [
        #"noise {"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"a \"b"#,
        "agentStart",
      ]
    ),
    (
      #"{"level":"info","text":"an extension's log"}"# + settled,
      [#"noise {"level":"info","text":"an extension's log"}"#, "agentSettled"]
    ),
    // Quoted, an object is somebody's words.
    (#"{"type":"note","text":"{\"type\":\"agent_settled\"}"}"#, []),
    ("\t" + settled + " ", ["agentSettled"]),
  ]

  @Test(arguments: lines) func `objects are found among other text on their line`(line: String, items: [String]) {
    #expect(Self.items(in: line + "\n") == items)
    // Cut anywhere, the line says the same.
    for size in [1, 7, 64] { #expect(Self.items(in: line + "\n", chunk: size) == items) }
  }

  @Test func `a whole object is read although output ends without a newline`() {
    var stream = PiStream()
    let bytes = Array(("half of a line " + Self.settled).utf8)
    let items = bytes.withUnsafeBytes { stream.readUnfinished($0) }
    #expect(Self.described(items) == ["noise half of a line ", "agentSettled"])
  }

  @Test func `a long line with text before its object is judged by the object`() {
    let words = String(repeating: "x", count: LineFramer.judgedLength * 2)
    let line = "\u{1B}]0;t\u{7}" + #"{"type":"agent_end","messages":[{"text":""# + words + #""}]}"#
    let items = Self.items(in: line + "\n" + Self.settled + "\n", chunk: 4_096)
    #expect(items == ["noise \u{1B}]0;t\u{7}", "agentEnd(willRetry: nil)", "agentSettled"])
  }

  private static let long = String(repeating: #"x\"{\\"#, count: LineFramer.judgedLength)
  private static let longEnd = #"{"type":"agent_end","messages":[{"text":""# + long + #""},{"a":[{}]}]}"#
  private static let longDelta =
    #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hi","partial":{"text":""#
    + long + #""}},"message":{}}"#

  /// Lines that begin with an object whose beginning says enough, and the items found in them.
  private static let longLines: [(String, [String])] = [
    (longEnd + settled, ["agentEnd(willRetry: nil)", "agentSettled"]),
    (longEnd + " words " + settled, ["agentEnd(willRetry: nil)", "noise  words ", "agentSettled"]),
    (longEnd + longDelta + settled, ["agentEnd(willRetry: nil)", "text hi", "agentSettled"]),
    (longDelta + delta + settled, ["text hihi", "agentSettled"]),
    (longEnd + "\r", ["agentEnd(willRetry: nil)"]),
  ]

  @Test(arguments: longLines.indices, [64, 4_096, 65_536, 1 << 20])
  func `objects behind a long one on its line are read, and the long one is not kept`(line: Int, chunk: Int) {
    let (line, expected) = Self.longLines[line]
    var framer = LineFramer(maximumLineLength: 4 * LineFramer.judgedLength + (1 << 20))
    let items = Self.items(in: line + "\n" + Self.started + "\n", chunk: chunk, through: &framer)
    // A long line that comes whole in one piece is not judged by its beginning.
    let heard = Self.joined(items).map { $0.hasPrefix("agentEnd") ? "agentEnd(willRetry: nil)" : $0 }
    #expect(heard == expected + ["agentStart"])
  }

  @Test(arguments: [64, 4_096, 65_536]) func `an object behind long noise is read, and the noise is not kept`(
    chunk: Int
  ) {
    let noise = String(repeating: "noise {\"a\": ", count: LineFramer.judgedLength)
    var framer = LineFramer(maximumLineLength: 4 * LineFramer.judgedLength)
    let items = Self.items(in: noise + Self.settled + "\n" + "words\n", chunk: chunk, through: &framer)
    #expect(items == ["noise " + noise.prefix(200), "agentSettled", "noise words"])
  }

  @Test func `a long line of many objects is scanned once, however it arrives`() {
    let line = String(repeating: Self.delta, count: 100_000)
    #expect(
      Self.joined(Self.items(in: line + "\n", chunk: 1 << 20)) == ["text " + String(repeating: "hi", count: 100_000)])
  }

  @Test func `an event behind many cut ones is found`() {
    let line = String(repeating: #"{"type":"cut "#, count: 100) + Self.settled
    #expect(Self.items(in: line + "\n").last == "agentSettled")
  }

  @Test func `a line of many objects is scanned once`() {
    // Unless it is, the test runs into its time limit: 64 MB are allowed.
    let line = String(repeating: #"{"type":"x"}"#, count: 1_000_000) + Self.settled
    #expect(Self.items(in: line + "\n") == ["agentSettled"])
  }

  @Test func `deltas of the older dialect are read the fast way, although they contain objects`() {
    var scanner = PiEventScanner()
    var text = DeltaText()
    let line = Array(
      (#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hi","#
        + #""partial":{"content":[{"type":"text","text":"hi"},{"type":"text","text":"}{"}]}},"message":{}}"#).utf8)
    #expect(line.withUnsafeBytes { scanner.takeDelta($0, into: &text) })
  }

  @Test func `many false beginnings cost no more than a few looks at the line`() {
    let line = String(repeating: #"{"type":{"a":"b","#, count: 200_000) + Self.settled
    #expect(Self.items(in: line + "\n").first?.hasPrefix("noise") == true)
  }

  @Test func `recorded events keep their meaning, whatever text stands around them`() throws {
    var generator = SplitMix(seed: 20_261_124)
    let noise = ["\u{1B}]0;t\u{7}", "\u{1B}[32m", "\u{7}", "words", #"{"a":1}"#, "{", "}", "\"", "\\", "[1,"]
    for name in Recordings.all {
      // A long object may be judged by its beginning, depending on how it arrives, and then says less.
      let lines = try Recordings.lines(name).filter { line in
        line.count < LineFramer.judgedLength / 2 && (try? JSONCoding.decode(JSONValue.self, from: line))?["type"] != nil
      }
      let plain = Self.items(in: lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined())
      let noisy = lines.map { line in
        let before = Bool.random(using: &generator) ? noise.randomElement(using: &generator)! : ""
        let after = Int.random(in: 0..<3, using: &generator) == 0 ? noise.randomElement(using: &generator)! : ""
        let end = Int.random(in: 0..<4, using: &generator) == 0 ? "" : "\n"
        return before + String(decoding: line, as: UTF8.self) + after + end
      }.joined()
      let found = Self.items(in: noisy + "\n", chunk: Int.random(in: 1...5_000, using: &generator))
      let heard = Self.joined(found.filter { !$0.hasPrefix("noise") })
      let expected = Self.joined(plain.filter { !$0.hasPrefix("noise") })
      let difference = zip(heard, expected).first { $0 != $1 }
      #expect(heard.count == expected.count && difference == nil, "\(name)")
    }
  }

  /// Texts that follow one another joined: how they were cut is the reader's business.
  private static func joined(_ items: [String]) -> [String] {
    items.reduce(into: []) { result, item in
      if item.hasPrefix("text "), let last = result.last, last.hasPrefix("text ") {
        result[result.count - 1] += item.dropFirst(5)
      } else {
        result.append(item)
      }
    }
  }

  private static func items(in text: String, chunk: Int = .max) -> [String] {
    var framer = LineFramer(maximumLineLength: 64 << 20)
    return items(in: text, chunk: chunk, through: &framer)
  }

  private static func items(in text: String, chunk: Int, through framer: inout LineFramer) -> [String] {
    var stream = PiStream()
    let bytes = Array(text.utf8)
    var items: [PiStream.Item] = []
    for start in stride(from: 0, to: bytes.count, by: min(chunk, bytes.count)) {
      bytes[start..<min(start + min(chunk, bytes.count), bytes.count)].withUnsafeBytes {
        items += stream.read($0, with: &framer)
      }
    }
    return described(items)
  }

  private static func described(_ items: [PiStream.Item]) -> [String] {
    items.map { item in
      switch item {
      case .text(let text): "text \(text)"
      case .event(.noise(let beginning)): "noise \(beginning)"
      case .event(.response(let response)): "response \(response.id ?? "")"
      // Arguments are printed in no order.
      case .event(.toolStart(let id, _, _)): "toolStart \(id)"
      case .event(let event): "\(event)"
      case .tooLong(let length): "tooLong \(length)"
      }
    }
  }
}
