import FoundationEssentials
import PiRPC
import RelayJSON
import RelayWire
import TestSupport
import Testing

/// The recordings of the real program, by dialect.
enum Recordings {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Transcripts")

  static let all: [String] = ["current", "cumulative"].flatMap { dialect in
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: dialect).path)) ?? []
    return names.sorted().map { "\(dialect)/\($0)" }
  }

  static func lines(_ name: String) throws -> [[UInt8]] {
    let bytes = [UInt8](try Data(contentsOf: folder.appending(path: name)))
    return bytes.split(separator: 0x0A).map(Array.init)
  }
}

/// The contents of a line according to a full parse.
private enum FullParse {
  struct Line: Decodable {
    struct Update: Decodable {
      var type: String
      var delta: String?
    }
    var type: String
    var assistantMessageEvent: Update?
  }

  static func delta(_ bytes: [UInt8]) -> String? {
    guard let line = try? JSONCoding.decode(Line.self, from: bytes), line.type == "message_update",
      line.assistantMessageEvent?.type == "text_delta"
    else { return nil }
    return line.assistantMessageEvent?.delta
  }

  static func type(_ bytes: [UInt8]) -> String? {
    try? JSONCoding.decode(Line.self, from: bytes).type
  }
}

private func scanDelta(_ bytes: [UInt8], with scanner: inout PiEventScanner) -> String? {
  var text = DeltaText()
  let event = bytes.withUnsafeBytes { scanner.scan($0, into: &text) }
  guard event == nil else { return nil }
  // Half an emoji at the end is held back until something follows.
  Array("|".utf8).withUnsafeBytes { text.append($0, escaped: false) }
  return text.take().map { String($0.dropLast()) }
}

private func scanned(_ bytes: [UInt8], with scanner: inout PiEventScanner) -> PiEvent? {
  var text = DeltaText()
  return bytes.withUnsafeBytes { scanner.scan($0, into: &text) }
}

@Suite struct PiEventScannerTests {
  @Test func `there are recordings of both dialects`() {
    #expect(Recordings.all.count { $0.hasPrefix("current/") } >= 15)
    #expect(Recordings.all.count { $0.hasPrefix("cumulative/") } >= 12)
  }

  @Test(arguments: Recordings.all) func `the scanner agrees with a full parse on every recorded line`(name: String)
    throws
  {
    var scanner = PiEventScanner()
    for bytes in try Recordings.lines(name) {
      #expect(scanDelta(bytes, with: &scanner) == FullParse.delta(bytes))
    }
  }

  @Test(arguments: Recordings.all) func `the scanner knows every recorded event`(name: String) throws {
    var scanner = PiEventScanner()
    for bytes in try Recordings.lines(name) {
      if case .noise = scanned(bytes, with: &scanner) {
        #expect(FullParse.type(bytes) == nil, "\(String(decoding: bytes.prefix(120), as: UTF8.self))")
      }
    }
  }

  @Test(arguments: Recordings.all) func `the scanner tells the dialects apart`(name: String) throws {
    var scanner = PiEventScanner()
    for bytes in try Recordings.lines(name) { _ = scanned(bytes, with: &scanner) }
    if let whole = scanner.sendsWholeMessages { #expect(whole == name.hasPrefix("cumulative/")) }
  }

  @Test(arguments: Recordings.all) func `deltas add up to each message's authoritative text`(name: String) throws {
    var scanner = PiEventScanner()
    var text = DeltaText()
    for bytes in try Recordings.lines(name) {
      switch bytes.withUnsafeBytes({ scanner.scan($0, into: &text) }) {
      case .messageStart: _ = text.take()
      case .messageEnd(let message) where message.role == "assistant":
        let shown = text.take() ?? ""
        // An aborted or failed message may end with text whose deltas never came, never the other way round.
        #expect(message.text.hasPrefix(shown) || message.text.contains("\u{FFFD}"))
        if message.stopReason == "stop" { #expect(message.text == shown || message.text.contains("\u{FFFD}")) }
      default: break
      }
    }
  }

  @Test func `the scanner agrees with a full parse on 10,000 generated events`() throws {
    var generator = SplitMix(seed: 20_261_122)
    var scanner = PiEventScanner()
    for _ in 0..<10_000 {
      let line = GeneratedEvent.line(using: &generator)
      let bytes = Array(line.utf8)
      #expect(scanDelta(bytes, with: &scanner) == FullParse.delta(bytes), "\(line)")
    }
  }

  @Test(arguments: ["null", "[]", "\u{1B}[32mhello", "{\"type\":", "{\"typ\":\"x\"}", "{}", "]["])
  func `lines that are not events are noise`(text: String) {
    var scanner = PiEventScanner()
    let event = scanned(Array(text.utf8), with: &scanner)
    guard case .noise = event else {
      Issue.record("\(String(describing: event))")
      return
    }
  }

  @Test func `an event of a known type in an unknown shape ends nothing`() {
    var scanner = PiEventScanner()
    let line = #"{"type":"message_end","message":"later"}"#
    #expect(scanned(Array(line.utf8), with: &scanner) == .noise(beginning: line))
  }

  @Test func `a long cumulative update is read from its beginning and dropped`() {
    var scanner = PiEventScanner()
    let long = String(repeating: "x", count: 100_000)
    let line =
      #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"héllo","partial":{"t":""#
      + long
    var text = DeltaText()
    let judged = Array(line.utf8).withUnsafeBytes { scanner.judge($0, into: &text) }
    #expect(!judged.keep)
    #expect(text.take() ?? "" == "héllo")
    #expect(scanner.sendsWholeMessages == true)
  }

  @Test func `an emoji split over two deltas is joined`() {
    var text = DeltaText()
    for raw in [#"a\ud83e"#, #"\udd8ab"#, #"c\\ud83e"#, "d"] {
      Array(raw.utf8).withUnsafeBytes { text.append($0, escaped: true) }
    }
    #expect(text.take() ?? "" == #"a🦊bc\ud83ed"#)
  }
}

/// Event lines in the shapes pi may send: keys in any order, strange strings, nested decoys.
private enum GeneratedEvent {
  private static let strings = [
    "", "a", "hello world", #"quote \" inside"#, #"\\"#, #"\\\""#, #"\ud83e\udd8a"#, #"\ud83d"#, "🦊", "\u{2028}",
    #"\",\"delta\":\"decoy"#, #"{\"type\":\"text_delta\"}"#, #"\n\t\u0000"#, "}},", "]", #"\\\\"#,
  ]

  static func line(using generator: inout SplitMix) -> String {
    let types = ["text_delta", "thinking_delta", "toolcall_delta", "text_end", "text_start"]
    let type = types.randomElement(using: &generator)!
    let delta = (0..<Int.random(in: 1...4, using: &generator)).map { _ in strings.randomElement(using: &generator)! }
      .joined()
    var inner = [#""type":"\#(type)""#, #""contentIndex":\#(Int.random(in: 0...12, using: &generator))"#]
    if type.hasSuffix("_delta") { inner.append(#""delta":"\#(delta)""#) }
    if Bool.random(using: &generator) { inner.append(#""partial":{"delta":"decoy","content":[{"type":"text"}]}"#) }
    if Int.random(in: 0..<4, using: &generator) == 0 { inner.shuffle(using: &generator) }
    let event = #""assistantMessageEvent":{\#(inner.joined(separator: ","))}"#
    var members = [event]
    if Bool.random(using: &generator) {
      members.insert(
        #""usage":{"input":\#(Int.random(in: 0...99_999, using: &generator)),"cost":{"total":0.1}}"#, at: 0)
    }
    if Bool.random(using: &generator) { members.append(#""message":{"assistantMessageEvent":{"delta":"decoy"}}"#) }
    let outer = Int.random(in: 0..<8, using: &generator) == 0 ? "message_end2" : "message_update"
    members.insert(#""type":"\#(outer)""#, at: Int.random(in: 0..<4, using: &generator) == 0 ? members.count : 0)
    let space = Int.random(in: 0..<6, using: &generator) == 0 ? " " : ""
    return "{\(space)\(members.joined(separator: ",\(space)"))\(space)}"
  }
}
