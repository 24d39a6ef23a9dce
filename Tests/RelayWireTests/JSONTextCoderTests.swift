import FoundationEssentials
import RelayJSON
import RelayWire
import Testing

/// The coders agree with Foundation's, which other programs and earlier versions of this one use.
@Suite struct JSONTextCoderTests {
  private enum Kind: String, Codable { case dm, channel }

  private struct Everything: Codable, Equatable {
    var flag = true
    var text = "a \"b\"\\\n\u{1}🦊/"
    var whole = -7
    var small: Int8 = -128
    var large = UInt64.max
    var number = 1.5
    var integral = 5.0
    var tiny = 1e-7
    var huge = 1e300
    var float: Float = 0.1
    var kind = Kind.channel
    var missing: String?
    var list: [Int?] = [1, nil, 3]
    var bytes: [UInt8] = [0, 255]
    var lists = [["a"], []]
    var names = Dictionary(uniqueKeysWithValues: (0..<100).map { ("a\"\($0)", [$0]) })
    var numbers = [1: "one", 2: "two"]
    var any: JSONValue = ["x": [1, .number(2.5), .null, true, "y"], "empty": [:]]
    var nothing = Empty()
    var messages = [QuotedMessage(id: "1"), QuotedMessage(id: "2", sender: "u", text: "t")]
  }

  @Test func `each coder reads the text of the other`() throws {
    let value = Everything()
    let ours = try JSONCoding.encode(value)
    #expect(try JSONCoding.decode(Everything.self, from: ours) == value)
    #expect(try JSONDecoder().decode(Everything.self, from: Data(ours)) == value)
    #expect(try JSONCoding.decode(Everything.self, from: [UInt8](JSONEncoder().encode(value))) == value)
    #expect(
      try JSONCoding.decode(JSONValue.self, from: ours)
        == JSONCoding.decode(JSONValue.self, from: [UInt8](JSONEncoder().encode(value))))
  }

  @Test func `sorted members come in the order of their names, at each depth`() throws {
    let value: [String: [String: Int]] = ["b": ["z": 1, "y": 2], "a": [:], "c": ["x": 3]]
    let text = String(decoding: try JSONCoding.encode(value, sorted: true), as: UTF8.self)
    #expect(text == #"{"a":{},"b":{"y":2,"z":1},"c":{"x":3}}"#)
  }

  /// Uses the parts of the protocols that synthesised conformances leave out.
  private struct ByHand: Codable, Equatable {
    var inner = 1
    var item = 2
    var parent = 3

    enum Keys: String, CodingKey { case object, list, own }
    enum Inner: String, CodingKey { case value }

    init() {}

    func encode(to encoder: any Encoder) throws {
      var object = encoder.container(keyedBy: Keys.self)
      var nested = object.nestedContainer(keyedBy: Inner.self, forKey: .object)
      try nested.encode(inner, forKey: .value)
      var list = object.nestedUnkeyedContainer(forKey: .list)
      var first = list.nestedContainer(keyedBy: Inner.self)
      try first.encode(item, forKey: .value)
      try list.encodeNil()
      try parent.encode(to: object.superEncoder(forKey: .own))
      var again = encoder.container(keyedBy: Keys.self)
      _ = again.superEncoder()
    }

    init(from decoder: any Decoder) throws {
      let object = try decoder.container(keyedBy: Keys.self)
      inner = try object.nestedContainer(keyedBy: Inner.self, forKey: .object).decode(Int.self, forKey: .value)
      var list = try object.nestedUnkeyedContainer(forKey: .list)
      item = try list.nestedContainer(keyedBy: Inner.self).decode(Int.self, forKey: .value)
      guard try list.decodeNil(), list.isAtEnd, list.currentIndex == 2 else { throw CancellationError() }
      parent = try Int(from: object.superDecoder(forKey: .own))
      _ = try object.superDecoder()
    }
  }

  @Test func `nested containers and parents' coders are written in their places`() throws {
    let text = try JSONCoding.encode(ByHand())
    #expect(
      String(decoding: text, as: UTF8.self) == #"{"object":{"value":1},"list":[{"value":2},null],"own":3,"super":{}}"#)
    #expect(try JSONCoding.decode(ByHand.self, from: text) == ByHand())
  }

  private struct OutOfOrder: Encodable {
    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      var nested = list.nestedUnkeyedContainer()
      try list.encode(1)
      try nested.encode(2)
    }
  }

  @Test func `a value that is added out of order is refused`() {
    #expect(throws: EncodingError.self) { try JSONCoding.encode(OutOfOrder()) }
  }

  @Test(arguments: [Double.infinity, -.infinity, .nan]) func `a number that JSON lacks is refused`(
    number: Double
  ) {
    #expect(throws: EncodingError.self) { try JSONCoding.encode(["a": [number]]) }
  }

  @Test(arguments: [
    (#"{}"#, "whole is missing"), (#"{"whole":null}"#, "whole is null, not an integer"),
    (#"{"whole":"1"}"#, "whole is not an integer"), (#"{"whole":true}"#, "whole is not an integer"),
    (#"{"whole":1.5}"#, "whole: 1.5 is not within Int8"), (#"{"whole":128}"#, "whole: 128 is not within Int8"),
    (#"{"whole":1,"list":{}}"#, "list is not a list"),
    (#"{"whole":1,"list":[{"id":1}]}"#, "list[0].id is not a string"),
    (#"{"whole":1,"kind":"cave"}"#, "kind: Cannot initialize Kind from invalid String value cave"),
    (#"[]"#, "the line is not an object"), (#"{"whole":1"#, "the line: not JSON at byte 10"),
    (#"{"whole":1} x"#, "the line: not JSON at byte 12"), (#"{"whole":01}"#, "the line: not JSON at byte 9"),
    (#"{"whole":1,"more":[1,}}"#, "the line: not JSON at byte 21"), ("", "the line: not JSON at byte 0"),
    ("{\"whole\":1,\"kind\":\"a\tb\"}", "kind: not a text in UTF-8 with JSON's escapes"),
  ])
  func `a fault is reported with its place`(text: String, problem: String) throws {
    struct Form: Decodable {
      var whole: Int8
      var list: [QuotedMessage]?
      var kind: Kind?
    }
    let error = try #require(throws: DecodingError.self) { try JSONCoding.decode(Form.self, from: Array(text.utf8)) }
    #expect(JSONCoding.explain(error) == problem)
  }

  @Test func `whole numbers may be written with a fraction or an exponent`() throws {
    #expect(try JSONCoding.decode([Int].self, from: Array("[1.0, 2e3 , -0]".utf8)) == [1, 2000, 0])
    #expect(try JSONCoding.decode([Double].self, from: Array("[1,2.50]".utf8)) == [1, 2.5])
  }

  @Test func `names may be escaped, the last of two counts, and half of a pair is replaced`() throws {
    let text = #" { "\u0061" : "1" , "b\"" : "2" , "a" : "\ud83d" } "#
    #expect(try JSONCoding.decode([String: String].self, from: Array(text.utf8)) == ["a": "\u{FFFD}", "b\"": "2"])
  }

  @Test func `deeply nested text is refused, not a crash`() {
    let text = Array(String(repeating: "[", count: 100_000).utf8)
    #expect(throws: DecodingError.self) { try JSONCoding.decode([Int].self, from: text) }
  }

  @Test func `a number of many digits is not repeated in the error`() {
    let digits = [UInt8](repeating: UInt8(ascii: "9"), count: 1_000_000)
    #expect {
      try JSONCoding.decode(Int.self, from: digits)
    } throws: { error in
      "\(error)".utf8.count < 1_000
    }
  }
}
