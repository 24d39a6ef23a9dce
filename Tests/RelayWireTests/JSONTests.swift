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

  @Test func `walks members of every kind`() {
    #expect(
      members(#" { "a" : "x\"}{" , "b":[1,{"c":"]"}],"d":-1.5e3,"e":null , "f":{} } "#)
        == ["a": #""x\"}{""#, "b": #"[1,{"c":"]"}]"#, "d": "-1.5e3", "e": "null", "f": "{}"])
    #expect(members("{}") == [:])
  }

  @Test(arguments: [
    "", "null", "[]", "{", #"{"a""#, #"{"a":"#, #"{"a":1"#, #"{"a":"x"#, #"{"a":"\"#, #"{"a":[1"#, "{,}",
  ])
  func `says that broken text is no object`(text: String) {
    #expect(members(text) == nil)
  }

  @Test func `every truncation of a line is survived`() {
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

  @Test func `unescapes everything JSON has`() {
    #expect(unescape(#"a\n\t\r\b\f\"\\\/\u00e9\ud83e\udd8a"#) == "a\n\t\r\u{8}\u{c}\"\\/é🦊")
  }

  @Test(arguments: [#"\ud83d"#, #"\ude00"#, #"\ud83dx"#, #"\ud83d\n"#, #"\ud83d\ud83d"#])
  func `a lone half of a pair becomes the replacement character`(raw: String) {
    #expect(unescape(raw).unicodeScalars.contains("\u{FFFD}"))
  }

  @Test func `repairs lone halves and leaves pairs alone`() {
    func repaired(_ text: String) -> String? {
      Array(text.utf8).withUnsafeBytes {
        JSONText.repairingLoneSurrogates($0).map { String(decoding: $0, as: UTF8.self) }
      }
    }
    #expect(repaired(#"{"a":"\ud83e\udd8a\\ud83d"}"#) == nil)
    #expect(repaired(#"{"a":"\ud83d"}"#) == #"{"a":"\ufffd"}"#)
    #expect(repaired(#"{"a":"\udd8a\ud83e"}"#) == #"{"a":"\ufffd\ufffd"}"#)
  }

  @Test func `a lone half does not make a line unreadable`() throws {
    let value = try JSONCoding.decode(JSONValue.self, from: Array(#"{"a":"x\ud83d"}"#.utf8))
    #expect(value["a"]?.stringValue == "x\u{FFFD}")
  }

  @Test func `large integers keep every digit`() throws {
    let text = #"{"id":9007199254740993}"#
    let value = try JSONCoding.decode(JSONValue.self, from: Array(text.utf8))
    #expect(String(decoding: try JSONCoding.encode(value), as: UTF8.self) == text)
  }
}

@Suite struct EnvelopeTests {
  private func kind(_ text: String) -> Envelope.Kind? {
    Array(text.utf8).withUnsafeBytes { Envelope($0)?.kind }
  }

  @Test func `tells the four kinds apart`() {
    #expect(kind(#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}"#) == .request(id: .integer(7), method: "ping"))
    #expect(kind(#"{"method":"a","id":"x"}"#) == .request(id: .string("x"), method: "a"))
    #expect(kind(#"{"method":"log"}"#) == .notification(method: "log"))
    #expect(kind(#"{"id":7,"result":null}"#) == .result(id: .integer(7)))
    #expect(kind(#"{"id":null,"error":{"code":1,"message":""}}"#) == .failure(id: nil))
  }

  @Test(arguments: ["null", "[]", "7", "{}", "hello", #"{"id":1}"#, #"{"method":3}"#, #"{"method":"a"} trailing"#])
  func `anything else is no message`(text: String) {
    #expect(kind(text) == nil)
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
