import RelayJSON
import RelayWire
import Testing

@Suite struct JSONCursorTests {
  private func members(_ text: String) -> [String: String]? {
    Array(text.utf8).withUnsafeBytes { bytes in
      var found: [String: String] = [:]
      var cursor = JSONCursor(bytes)
      let whole = cursor.members { key, cursor in
        let start = cursor.position
        _ = cursor.skipValue()
        found[String(decoding: key, as: UTF8.self)] = String(decoding: bytes[start..<cursor.position], as: UTF8.self)
        return true
      }
      return whole ? found : nil
    }
  }

  @Test func `members of every kind are walked`() {
    #expect(
      members(#" { "a" : "x\"}{" , "b":[1,{"c":"]"}],"d":-1.5e3,"e":null , "f":{} } "#)
        == ["a": #""x\"}{""#, "b": #"[1,{"c":"]"}]"#, "d": "-1.5e3", "e": "null", "f": "{}"])
    #expect(members("{}") == [:])
  }

  @Test(arguments: [
    "", "null", "[]", "{", #"{"a""#, #"{"a":"#, #"{"a":1"#, #"{"a":"x"#, #"{"a":"\"#, #"{"a":[1"#, "{,}",
  ])
  func `broken text is reported as no object`(text: String) {
    #expect(members(text) == nil)
  }

  @Test func `every truncation of a line is read without a crash`() {
    let line = Array(#"{"type":"x","a":{"b":["\\\"",{"c":1}]},"d":"😀"}"#.utf8)
    for end in 0..<line.count {
      line[..<end].withUnsafeBytes { bytes in
        var cursor = JSONCursor(bytes)
        #expect(!cursor.members { _, _ in true }, "cut at \(end)")
      }
    }
  }
}

@Suite struct JSONTextTests {
  private func unescape(_ raw: String) -> String {
    var out: [UInt8] = []
    Array(raw.utf8).withUnsafeBytes { JSONText.unescape($0, into: &out) }
    return String(decoding: out, as: UTF8.self)
  }

  @Test func `every escape of JSON is read`() {
    #expect(unescape(#"a\n\t\r\b\f\"\\\/\u00e9\ud83e\udd8a"#) == "a\n\t\r\u{8}\u{c}\"\\/é🦊")
  }

  @Test(arguments: [#"\ud83d"#, #"\ude00"#, #"\ud83dx"#, #"\ud83d\n"#, #"\ud83d\ud83d"#])
  func `a lone half of a pair becomes the replacement character`(raw: String) {
    #expect(unescape(raw).unicodeScalars.contains("\u{FFFD}"))
  }

  @Test func `a lone half does not make a line unreadable`() throws {
    let value = try JSONCoding.decode(JSONValue.self, from: Array(#"{"a":"x\ud83d"}"#.utf8))
    #expect(value["a"]?.stringValue == "x\u{FFFD}")
  }

  @Test func `large integers keep every digit`() throws {
    let text = #"{"id":9007199254740993}"#
    let value = try JSONCoding.decode(JSONValue.self, from: Array(text.utf8))
    #expect(String(decoding: JSONCoding.encode(value), as: UTF8.self) == text)
  }
}

@Suite struct RequestLineTests {
  private static let awkward = [
    "", "plain", "\"quoted\" \\ back/slash", "a\nb\r\n\tc", String(decoding: (UInt8(0)..<0x20), as: UTF8.self),
    "\u{7F}\u{2028}\u{2029}é🦊👩‍👩‍👧", "\u{FFFD}\u{FEFF}",
  ]

  @Test(arguments: awkward) func `a quoted text is read back unchanged`(text: String) throws {
    var line: [UInt8] = []
    JSONText.quote(text, into: &line)
    #expect(try JSONCoding.decode(JSONValue.self, from: line) == .string(text))
    #expect(!line.contains { $0 < 0x20 })
  }

  @Test(arguments: ["\"", "\\", "\n", "\0", "\u{1F}", "é", "🦊", "#", " ", "\u{7F}"])
  func `a special character is quoted at every position`(special: String) throws {
    for before in 0..<18 {
      for after in [0, 1, 7, 8, 9] {
        let text = String(repeating: "a", count: before) + special + special + String(repeating: "ÿ", count: after)
        var line: [UInt8] = []
        JSONText.quote(text, into: &line)
        #expect(try JSONCoding.decode(JSONValue.self, from: line) == .string(text))
        #expect(!line.contains { $0 < 0x20 })
      }
    }
  }

  private func expectRead<Request: WireRequest & Equatable>(_ request: Request) throws {
    let line = try request.line(id: 7)
    #expect(try JSONCoding.decode(ParamsOf<Request>.self, from: line).params == request)
  }

  @Test(arguments: awkward) func `parameters are read as they were written`(text: String) throws {
    for streaming in [nil, true, false] {
      for buttons in [nil, [[Button(id: "b", label: text)]]] {
        try expectRead(
          MessageEdit(
            conversation: text, message: "m\(text)", text: text + text, buttons: buttons, streaming: streaming))
        try expectRead(
          MessageSend(
            key: "k", conversation: "c", text: text, role: .answer, replyTo: text, buttons: buttons,
            streaming: streaming))
      }
    }
    try expectRead(
      MessageReceived(
        id: "1", time: 1_763_841_600.25, conversation: Conversation(id: "c", kind: .thread, parent: "p", title: text),
        sender: Sender(id: "u", name: "Ann", roles: ["r", text]), text: text, mention: true,
        replyTo: QuotedMessage(id: "0", text: text), attachments: [Attachment(id: "1", name: text)], forwarded: true,
        state: ["seen": ["c": .string(text)]]))
  }

  @Test func `a request is one line with its id, method and parameters`() throws {
    let line = try MessageDelete(conversation: "c", message: "m").line(id: 7)
    #expect(line.last == 0x0A && line.dropLast().allSatisfy { $0 != 0x0A })
    let expected: JSONValue = [
      "jsonrpc": "2.0", "id": 7, "method": "message.delete", "params": ["conversation": "c", "message": "m"],
    ]
    #expect(try JSONCoding.decode(JSONValue.self, from: Array(line.dropLast())) == expected)
  }
}

@Suite struct ReplyTests {
  private func read<Request: WireRequest>(_ result: String, as type: Request.Type) throws -> Request.Reply {
    let line = Array(#"{"jsonrpc":"2.0","id":1,"result":\#(result)}"#.utf8)
    return try JSONCoding.decode(ResultOf<Request.Reply>.self, from: line).result
  }

  private func receipt(_ result: String) throws -> String { try read(result, as: MessageSend.self).message }

  @Test func `the receipt of a change need not name the message, which keeps its own`() throws {
    for (result, receipt) in [
      ("{}", EditReceipt()), (#"{"message":null}"#, EditReceipt()), (#"{"putOff":true}"#, EditReceipt(putOff: true)),
      (#"{"message":"7","putOff":true}"#, EditReceipt(message: "7", putOff: true)),
    ] {
      #expect(try read(result, as: MessageEdit.self) == receipt)
    }
    for receipt in [EditReceipt(), EditReceipt(putOff: true), EditReceipt(message: "7", putOff: false)] {
      let written = String(decoding: try JSONCoding.encode(receipt), as: UTF8.self)
      #expect(try read(written, as: MessageEdit.self) == receipt)
    }
  }

  @Test(arguments: [
    ("null", "result is null, not an object"), ("[]", "result is not an object"),
    (#"{"message":7}"#, "result.message is not a string"), (#"{"putOff":"no"}"#, "result.putOff is not a boolean"),
  ])
  func `a fault in an answer is reported with its place`(result: String, problem: String) throws {
    let error = try #require(throws: (any Error).self) { try read(result, as: MessageEdit.self) }
    #expect(JSONCoding.explain(error) == problem)
  }

  @Test func `a member of a list is named by its index`() throws {
    let error = try #require(throws: (any Error).self) {
      try read(#"{"pieces":[{"text":"a","consumed":1},{"text":"b"}]}"#, as: FormatRender.self)
    }
    #expect(JSONCoding.explain(error) == "result.pieces[1].consumed is missing")
  }

  @Test func `a receipt is read among other members`() throws {
    #expect(try receipt(#"{"message":"7"}"#) == "7")
    #expect(try receipt(#" { "extra":{"message":"no"}, "message" : "\ud83e\udd8a\n" , "more":[1] }"#) == "🦊\n")
  }

  @Test(arguments: ["{}", "null", "[]", "true", #""ok""#, #"{"more":1}"#])
  func `a request without a result accepts any answer`(result: String) throws {
    #expect(try read(result, as: TypingSet.self) == Empty())
  }

  @Test(arguments: ["null", "{}", #"{"message":7}"#, #"{"message":null}"#, "[]", #""7""#])
  func `an answer that is not a receipt is an error`(result: String) {
    #expect(throws: (any Error).self) { try receipt(result) }
  }
}

@Suite struct LengthUnitTests {
  @Test(arguments: LengthUnit.allCases) func `the quick estimate of a length agrees with counting`(unit: LengthUnit) {
    for text in ["", "abc", "ééé", "🦊🦊", "👩‍👩‍👧x", "漢字"] {
      for limit in 0...20 { #expect(unit.isWithin(limit, text) == (unit.count(text) <= limit)) }
    }
  }
}

@Suite struct EnvelopeTests {
  private func kind(_ text: String) -> Envelope.Kind? {
    Array(text.utf8).withUnsafeBytes { Envelope($0)?.kind }
  }

  @Test func `the four kinds of message are told apart`() {
    #expect(kind(#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}"#) == .request(id: .integer(7), method: "ping"))
    #expect(kind(#"{"method":"a","id":"x"}"#) == .request(id: .string("x"), method: "a"))
    #expect(kind(#"{"method":"log"}"#) == .notification(method: "log"))
    #expect(kind(#"{"id":7,"result":null}"#) == .result(id: .integer(7)))
    #expect(kind(#"{"id":null,"error":{"code":1,"message":""}}"#) == .failure(id: nil))
  }

  @Test(arguments: ["null", "[]", "7", "{}", "hello", #"{"id":1}"#, #"{"method":3}"#, #"{"method":"a"} trailing"#])
  func `a line of no kind is not a message`(text: String) {
    #expect(kind(text) == nil)
  }
}

@Suite struct SenseTests {
  @Test(arguments: [1e300, .infinity, -.infinity, .nan, -5, 1e18]) func `no wait is endless or negative`(wait: Double) {
    let failure = DeliveryFailure(DeliveryFailure.rateLimited(retryAfter: wait).wireError)
    guard case .rateLimited(let seconds)? = failure else { return #expect(Bool(false), "\(wait)") }
    #expect((0...DeliveryFailure.maximumWait).contains(seconds))
  }

  @Test func `numbers of a plugin are limited to usable ones`() {
    var capabilities = Capabilities()
    capabilities.maximumTextLength = -1
    capabilities.minimumEditInterval = .min
    capabilities.maximumFileBytes = -1
    capabilities.buttons = ButtonLimits(rows: .max, perRow: .max, labelLength: .max, idLength: .max)
    #expect(capabilities.sensible.maximumTextLength ?? 0 >= 50)
    #expect(capabilities.sensible.minimumEditInterval == 0)
    #expect(capabilities.sensible.maximumFileBytes == 0)
    #expect(capabilities.sensible.buttons?.rows == 100)
    for broken in [(0, 1, 1), (1, -1, 1), (1, 1, 0)] {
      capabilities.buttons = ButtonLimits(rows: broken.0, perRow: broken.1, labelLength: broken.2, idLength: 100)
      #expect(capabilities.sensible.buttons == nil)
    }
  }
}

@Suite struct WireErrorTests {
  @Test(arguments: [
    DeliveryFailure.transient("a"), .rateLimited(retryAfter: 1.5), .unauthorized("b"), .forbidden("c"), .notFound("d"),
    .tooLarge("e"), .invalid("f"), .unknownOutcome("g"),
  ])
  func `every delivery failure survives the wire`(failure: DeliveryFailure) throws {
    let bytes = try JSONCoding.encode(failure.wireError)
    #expect(DeliveryFailure(try JSONCoding.decode(WireError.self, from: bytes)) == failure)
  }

  @Test func `unknown fields and kinds are ignored`() throws {
    let text =
      #"{"protocolVersion":1,"name":"n","version":"1","kinds":["messenger","telepath"],"capabilities":{"x":1},"y":2}"#
    let reply = try JSONCoding.decode(InitializeReply.self, from: Array(text.utf8))
    #expect(reply.kinds == [.messenger, PluginKind(rawValue: "telepath")])
  }

  @Test func `the highest common version wins`() {
    #expect(ProtocolVersion.common([1, 2, 3], [2, 3, 4]) == 3)
    #expect(ProtocolVersion.common([1], [2]) == nil)
  }
}
