import BridgeProtocol
import FoundationEssentials
import RelayJSON
import RelayWire
import Testing

@Suite struct EventSummaryTests {
  private func summary(
    _ event: String, named name: String, _ limits: BridgeLimits = BridgeLimits()
  ) throws -> (data: JSONValue, isTruncated: Bool) {
    let summary = Array(event.utf8).withUnsafeBytes { EventSummary(of: $0, named: name, limits: limits) }
    return (try JSONCoding.decode(JSONValue.self, from: summary.data), summary.isTruncated)
  }

  @Test func `a text delta is summed up by its size and its beginning`() throws {
    let (data, isTruncated) = try summary(
      #"{"type":"message_update","usage":{"input":0},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"ä\n😀x"}}"#,
      named: "message_update")
    #expect(
      data
        == .object([
          "role": .string("assistant"), "type": .string("text_delta"), "contentIndex": .integer(0),
          "deltaLength": .integer(5), "deltaBytes": .integer(8), "deltaPreview": .string("ä\n😀x"),
        ]))
    #expect(isTruncated)
  }

  @Test(arguments: [(0, ""), (1, "a"), (2, "a"), (3, "aä"), (4, "aä"), (6, "aä"), (7, "aä😀"), (8, "aä😀")])
  func `a preview is cut between characters`(bytes: Int, preview: String) throws {
    var limits = BridgeLimits()
    limits.eventPreviewBytes = bytes
    let (data, _) = try summary(#"{"type":"session_info_changed","name":"aä😀"}"#, named: "session_info_changed", limits)
    #expect(data["namePreview"]?.stringValue == preview)
    #expect(data["nameTruncated"]?.boolValue == (bytes < 7 ? true : nil))
  }

  @Test func `a tool's result is measured as the JSON that pi wrote`() throws {
    let (data, _) = try summary(
      #"{"type":"tool_execution_end","toolCallId":"c1","toolName":"bash","result":{"content":[]},"isError":false}"#,
      named: "tool_execution_end")
    #expect(
      data
        == .object([
          "toolName": .string("bash"), "toolUseId": .string("c1"), "isError": .bool(false),
          "resultBytes": .integer(14), "resultPreview": .string(#"{"content":[]}"#),
        ]))
  }

  @Test func `the end of a run is summed up by the assistant's last text, never by a tool's or a person's`() throws {
    let (data, _) = try summary(
      #"""
      {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"question"}]},{"role":"assistant","content":[{"type":"text","text":"first"},{"type":"text","text":"answer"},{"type":"toolCall","id":"1"},{"type":"text","text":" "}],"stopReason":"stop","usage":{"input":3}},{"role":"toolResult","content":[{"type":"text","text":"output"}]}],"willRetry":false}
      """#, named: "agent_end")
    #expect(data["finalTextPreview"]?.stringValue == "answer")
    #expect(data["messagesCount"]?.integerValue == 3)
    #expect(data["stopReason"]?.stringValue == "stop")
    #expect(data["usage"] == .object(["input": .integer(3)]))
    #expect(data["willRetry"]?.boolValue == false)
  }

  @Test func `an input counts its images and previews its text`() throws {
    let (data, _) = try summary(
      #"{"type":"input","text":"hello","source":"rpc","streamingBehavior":"follow-up","images":[{},{}]}"#,
      named: "input")
    #expect(
      data
        == .object([
          "source": .string("rpc"), "streamingBehavior": .string("followUp"), "imagesCount": .integer(2),
          "textBytes": .integer(5), "textLength": .integer(5), "textPreview": .string("hello"),
        ]))
  }

  @Test func `another event is passed on whole up to the limit and described above it`() throws {
    var limits = BridgeLimits()
    let event = #"{"type":"turn_end","message":{"role":"assistant"}}"#
    limits.maxEventBytes = event.utf8.count
    #expect(
      try summary(event, named: "turn_end", limits) == (
        JSONCoding.decode(JSONValue.self, from: Array(event.utf8)), false
      ))
    limits.maxEventBytes -= 1
    let (data, isTruncated) = try summary(event, named: "turn_end", limits)
    #expect(isTruncated)
    #expect(
      data
        == .object([
          "summary": .string("turn_end payload omitted (exceeded \(limits.maxEventBytes) bytes)"),
          "truncated": .bool(true), "originalBytes": .integer(Int64(event.utf8.count)),
          "maxBytes": .integer(Int64(limits.maxEventBytes)),
        ]))
  }

  @Test func `a broken event is described and not shown`() throws {
    let (data, isTruncated) = try summary(#"{"type":"agent_end","messages":[{"role"#, named: "agent_end")
    #expect(isTruncated)
    #expect(data["originalBytes"]?.integerValue == 38)
  }

  /// Every event of the recordings of the real program has a summary that is an object within the limit.
  @Test(arguments: ["current", "cumulative"]) func `every recorded event has a summary`(dialect: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Transcripts/\(dialect)")
    let limits = BridgeLimits()
    var count = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      for line in [UInt8](try Data(contentsOf: folder.appending(path: name))).split(separator: 0x0A) {
        guard let event = try? JSONCoding.decode(JSONValue.self, from: Array(line)), event.objectValue != nil,
          let type = event["type"]?.stringValue
        else { continue }
        let summary = line.withUnsafeBytes { EventSummary(of: $0, named: type, limits: limits) }
        #expect(summary.data.count <= limits.maxEventBytes)
        #expect(try JSONCoding.decode(JSONValue.self, from: summary.data).objectValue != nil, "\(name)")
        #expect(summary.originalBytes == line.count)
        count += 1
      }
    }
    #expect(count > 100)
  }
}
