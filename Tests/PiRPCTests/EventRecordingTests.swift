import RelayJSON
import RelayWire
import Testing

@testable import PiRPC

@Suite struct EventRecordingTests {
  private static let delta =
    #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hi"}}"#

  /// The lines that are recorded of these, fed in pieces of so many bytes.
  private func recorded(_ lines: [String], updates: Bool = false, piece: Int = .max) -> [String] {
    var stream = PiStream()
    stream.recording = EventRecording()
    stream.recording?.includesUpdates = updates
    var framer = LineFramer(maximumLineLength: 64 << 20)
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    var result: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      Array(rest.prefix(piece)).withUnsafeBytes { _ = stream.read($0, with: &framer) }
      rest = rest.dropFirst(piece)
      result += stream.takeRecorded()
    }
    return String(decoding: result, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func `events are recorded as pi wrote them, without answers, noise and updates`() {
    let start = #"{"type":"tool_execution_start","toolCallId":"t","toolName":"bash","args":{"command":"ls"},"new":1}"#
    #expect(
      recorded([
        #"{"type":"agent_start"}"#, "[loading]",
        #"{"id":"relay-1","type":"response","command":"prompt","success":true}"#,
        Self.delta, start,
      ]) == [#"{"type":"agent_start"}"#, start])
  }

  @Test func `updates are recorded when they are wanted, in their order`() {
    let thinking = #"{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","delta":"hm"}}"#
    #expect(
      recorded([Self.delta, thinking, #"{"type":"agent_end"}"#], updates: true, piece: 7)
        == [Self.delta, thinking, #"{"type":"agent_end"}"#])
  }

  @Test func `nothing is recorded while nobody follows`() {
    var stream = PiStream()
    var framer = LineFramer(maximumLineLength: 1 << 20)
    Array((Self.delta + "\n" + #"{"type":"agent_start"}"# + "\n").utf8).withUnsafeBytes {
      _ = stream.read($0, with: &framer)
    }
    #expect(stream.takeRecorded().isEmpty)
  }

  @Test func `of a long event that is dropped while it arrives the whole members of its beginning are recorded`() {
    let text = String(repeating: "x", count: 300_000)
    let end = #"{"type":"agent_end","messages":[{"role":"user","content":"\#(text)"}]}"#
    let result =
      #"{"type":"message_end","message":{"role":"toolResult","toolCallId":"t1","content":[{"type":"text","text":"\#(text)"}]}}"#
    #expect(
      recorded([end, result], piece: 50_000) == [
        #"{"type":"agent_end"}"#, #"{"type":"message_end","message":{"role":"toolResult","toolCallId":"t1"}}"#,
      ])
  }

  @Test func `of an older pi's long update the delta is recorded`() {
    let text = String(repeating: "x", count: 300_000)
    let update =
      #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":2,"delta":"new","partial":{"role":"assistant","content":"\#(text)"}},"message":{}}"#
    #expect(
      recorded([update], updates: true, piece: 50_000) == [
        #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":2,"delta":"new"}}"#
      ])
  }

  @Test(arguments: [
    (#"{"a":1,"b":{"c":"x","d":{"e":2}},"f":"cut of"#, #"{"a":1,"b":{"c":"x","d":{"e":2}}}"#),
    (#"{"a":1,"b":tru"#, #"{"a":1}"#), (#"{"a":12"#, "{}"), (#"{"#, "{}"), (#"{"a":{"b":1,"c"#, #"{"a":{"b":1}}"#),
  ])
  func `a beginning is closed after its last whole member`(beginning: String, closed: String) {
    let result = Array(beginning.utf8).withUnsafeBytes { EventRecording.closed($0) }
    #expect(result.map { String(decoding: $0, as: UTF8.self) } == closed)
  }

  @Test func `text that begins no object is not recorded`() {
    #expect(Array("words".utf8).withUnsafeBytes { EventRecording.closed($0) } == nil)
  }
}
