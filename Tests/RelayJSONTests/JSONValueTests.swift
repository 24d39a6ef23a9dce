import RelayJSON
import TestSupport
import Testing

/// The reading and writing by hand agrees with the general coders.
@Suite struct JSONValueTests {
  /// Read by the general decoder.
  private struct Wrapped: Codable, Equatable { var params: JSONValue }

  private func general(_ json: String) throws -> JSONValue {
    try JSONCoding.decode(Wrapped.self, from: Array(#"{"params":\#(json)}"#.utf8)).params
  }

  private func quick(_ json: String) throws -> JSONValue {
    try JSONCoding.decode(JSONValue.self, from: Array(json.utf8))
  }

  @Test(arguments: [
    "null", "true", "false", "0", "-0", "7", "-12", "1.0", "1.5", "-2.5e-3", "1e3", "1E+2", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "1e300", #""""#, #""a""#, #""é🦊""#,
    #""\"\\\/\b\f\n\r\t\u00e9\ud83e\udd8a""#, #""\ud83d""#, "[]", "[1,[2,[]],null]", "{}",
    #"{"a":{"b":[{"c":""}]},"d":1}"#, " [ 1 , { \"a\" : 2 } ]\n",
  ])
  func `values are read as the general decoder reads them`(json: String) throws {
    #expect(try quick(json) == general(json))
  }

  @Test(arguments: [
    "", " ", "nul", "True", "01", "+1", "1.", ".5", "1e", "1e+", "--1", "0x1", "1 2", "[1", "[1,]", "[,1]", "{", "{}}",
    #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#, #"{"a":1 "b":2}"#, #"""#, #""\x""#, #""\u12""#, "\"a\nb\"", "]",
    "1e999", "NaN", "Infinity",
  ])
  func `invalid JSON is refused with its place`(json: String) {
    #expect(throws: JSONSyntaxError.self) { try quick(json) }

  }

  @Test func `invalid UTF-8 is refused`() {
    #expect(throws: JSONSyntaxError.self) { try JSONCoding.decode(JSONValue.self, from: [0x22, 0xFF, 0x22]) }
  }

  @Test func `text that the general decoder reads is read at every depth`() throws {
    let deep = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
    #expect(try quick(deep) == general(deep))
  }

  @Test func `deep nesting is refused without exhausting the stack`() {
    let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
    #expect(throws: JSONSyntaxError.self) { try quick(deep) }
  }

  @Test func `written text is read again by both decoders`() throws {
    var random = SplitMix(seed: 7)
    for _ in 0..<500 {
      let value = Self.any(&random, depth: 0)
      let text = String(decoding: JSONCoding.encode(value), as: UTF8.self)
      #expect(try quick(text) == value)
      #expect(try general(text) == value)
    }
  }

  @Test func `each truncation is refused`() throws {
    let whole = Array(#"{"op":0,"d":{"id":"1","list":[1,true,null,"x\"y"],"n":-1.25},"t":"X"}"#.utf8)
    for end in 0..<whole.count {
      #expect(throws: JSONSyntaxError.self) { try JSONCoding.decode(JSONValue.self, from: Array(whole[..<end])) }
    }
  }

  private static func any(_ random: inout SplitMix, depth: Int) -> JSONValue {
    switch Int.random(in: 0..<(depth < 4 ? 7 : 5), using: &random) {
    case 0: .null
    case 1: .bool(Bool.random(using: &random))
    case 2: .integer(Int64.random(in: .min ... .max, using: &random))
    case 3: .number(Double(Int.random(in: -1_000_000...1_000_000, using: &random)) + 0.25)
    case 4: .string(word(&random))
    case 5: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in any(&random, depth: depth + 1) })
    default:
      .object(
        Dictionary(
          (0..<Int.random(in: 0...4, using: &random)).map { _ in (word(&random), any(&random, depth: depth + 1)) },
          uniquingKeysWith: { $1 }))
    }
  }

  private static func word(_ random: inout SplitMix) -> String {
    let letters = Array("ab\"\\\n\t\u{1}/é🦊 {}[],:")
    return String(
      (0..<Int.random(in: 0...12, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" })
  }
}
