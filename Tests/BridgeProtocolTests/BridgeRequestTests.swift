import BridgeProtocol
import RelayJSON
import RelayWire
import Testing

@Suite struct BridgeRequestTests {
  private func read(_ line: String) -> BridgeCommand { Array(line.utf8).withUnsafeBytes { BridgeCommand(line: $0) } }

  @Test(arguments: [
    (#"{"type":"ping"}"#, "ping", BridgeRequest.ping),
    (#"{"type":"state"}"#, "get_state", .state),
    (#"{"type":"get_state"}"#, "get_state", .state),
    (#"{"type":"commands"}"#, "get_commands", .commands),
    (#"{"type":"question_list"}"#, "questions", .questions),
    (
      #"{"type":"question_reply","request_id":" que_1 ","answers":[["A"]]}"#, "answer",
      .answer(requestID: "que_1", answers: .array([.array([.string("A")])]))
    ),
    (#"{"type":"question_reject","requestId":"que_1"}"#, "reject", .reject(requestID: "que_1")),
    (#"{"type":"emit"}"#, "emit", .emit("test")),
    (#"{"type":"emit","message":"x"}"#, "emit", .emit("x")),
    (#"{"type":"subscribe"}"#, "subscribe", .subscribe(enabled: true)),
    (#"{"type":"subscribe","enabled":false}"#, "subscribe", .subscribe(enabled: false)),
    (#"{"type":"send","message":"a"}"#, "prompt", .prompt(.init(content: .text("a"), delivery: .auto))),
    (#"{"type":"steer","message":"a"}"#, "steer", .prompt(.init(content: .text("a"), delivery: .steer))),
    (#"{"type":"followUp","message":"a"}"#, "follow_up", .prompt(.init(content: .text("a"), delivery: .followUp))),
    (
      #"{"type":"prompt","message":"a","deliverAs":"follow-up"}"#, "prompt",
      .prompt(.init(content: .text("a"), delivery: .followUp))
    ),
    (
      #"{"type":"prompt","message":"a","streamingBehavior":"now"}"#, "prompt",
      .prompt(.init(content: .text("a"), delivery: .now))
    ),
    (
      #"{"type":"steer","message":"a","deliverAs":"sideways"}"#, "steer",
      .prompt(.init(content: .text("a"), delivery: .steer))
    ),
    (
      #"{"type":"prompt","content":[{"type":"text","text":"a"}]}"#, "prompt",
      .prompt(
        .init(content: .blocks([.object(["type": .string("text"), "text": .string("a")])]), delivery: .auto))
    ),
    (#"{"type":"abort"}"#, "abort", .abort),
    (#"{"type":"shutdown"}"#, "shutdown", .shutdown(confirmed: false)),
    (#"{"type":"shutdown","confirm":true}"#, "shutdown", .shutdown(confirmed: true)),
    (
      #"{"type":"history","limit":"20x","verbose":true,"event":" turn_end ","max_bytes":7.9}"#, "history",
      .history(.init(limit: 20, raw: true, event: "turn_end", maxBytes: 7))
    ),
    (#"{"type":"history","limit":-1,"maxBytes":0}"#, "history", .history(.init())),
    (
      #"{"type":"history","since":"2026-05-21T02:00:00+02:00"}"#, "history",
      .history(.init(since: 1_779_321_600_000))
    ),
  ])
  func `requests and their aliases are read`(line: String, name: String, request: BridgeRequest) {
    #expect(read(line).name == name)
    #expect(read(line).request == .success(request))
  }

  @Test(arguments: [
    (#"{"type":"dance"}"#, "dance", "Unknown command type: dance"),
    (#"{}"#, "unknown", "Unknown command type: <missing>"),
    (#"{"type":7}"#, "unknown", "Unknown command type: <missing>"),
    (#"null"#, "unknown", "Unknown command type: <missing>"),
    (#"{"type":"prompt","message":7}"#, "prompt", "Expected string message or content array"),
    (#"{"type":"send"}"#, "prompt", "Expected string message or content array"),
    (#"{"type":"answer","requestId":"  "}"#, "answer", "Error: Expected requestId/request_id"),
    (
      #"{"type":"history","since":"yesterday"}"#, "history",
      "Error: since: yesterday is no ISO 8601 time; write it like 2026-05-21T08:00:00.000Z"
    ),
  ])
  func `other lines are refused with a reason`(line: String, name: String, words: String) {
    #expect(read(line).name == name)
    #expect(read(line).request == .failure(BridgeRefusal(words)))
  }

  @Test func `a line that is not JSON is refused without an id`() {
    let command = read(#"{"id":"1","type":"#)
    #expect(command.id == nil)
    #expect(command.name == "parse")
    guard case .failure(let refusal) = command.request else {
      Issue.record("it was read")
      return
    }
    #expect(refusal.words.hasPrefix("SyntaxError: "))
  }

  @Test(arguments: [JSONValue.string("a"), .integer(7), .null, .array([.bool(true)])])
  func `an id of any JSON kind is returned in the answer`(id: JSONValue) throws {
    let line = JSONCoding.encode(JSONValue.object(["id": id, "type": .string("ping")]))
    let command = line.withUnsafeBytes { BridgeCommand(line: $0) }
    let response = BridgeResponse(id: command.id, command: command.name, .success(nil)).line
    #expect(try JSONCoding.decode(JSONValue.self, from: response)["id"] == id)
  }

  @Test func `answers have the members of the protocol in its order`() {
    let success = BridgeResponse(id: .string("1"), command: "emit", .success(Array(#"{"message":"x"}"#.utf8)))
    #expect(
      String(decoding: success.line, as: UTF8.self)
        == #"{"type":"response","id":"1","command":"emit","success":true,"data":{"message":"x"}}"# + "\n")
    let failure = BridgeResponse(id: nil, command: nil, .failure(BridgeRefusal("Input line exceeds 1 MiB")))
    #expect(
      String(decoding: failure.line, as: UTF8.self)
        == #"{"type":"response","success":false,"error":"Input line exceeds 1 MiB"}"# + "\n")
  }

  @Test func `an envelope names the file of the whole event only when there is one`() {
    var envelope = BridgeEnvelope(
      event: "turn_start", timestamp: BridgeTimestamp.text(1_779_321_600_007), data: Array("{}".utf8))
    #expect(
      String(decoding: envelope.json, as: UTF8.self)
        == #"{"type":"event","event":"turn_start","timestamp":"2026-05-21T00:00:00.007Z","data":{}}"#)
    envelope.originalBytes = 40
    envelope.raw = ("/run/raw/7.jsonl", 3)
    #expect(
      String(decoding: envelope.json, as: UTF8.self).hasSuffix(
        #""data":{},"truncated":true,"originalBytes":40,"rawEventPath":"/run/raw/7.jsonl","rawEventRef":"3"}"#))
  }

  @Test(
    arguments: [
      ("2026-05-21T00:00:00Z", 1_779_321_600_000), ("2026-05-21T00:00:00.5Z", 1_779_321_600_500),
      ("2026-05-21T00:00:00.123456Z", 1_779_321_600_123), ("2026-05-20T20:00:00-04:00", 1_779_321_600_000),
    ] as [(String, Int64)])
  func `times of any offset and precision are read`(text: String, milliseconds: Int64) {
    #expect(BridgeTimestamp.milliseconds(text) == milliseconds)
    #expect(BridgeTimestamp.milliseconds(BridgeTimestamp.text(milliseconds)) == milliseconds)
  }
}
