import RelayWire
import Testing

/// The quick way of reading a message agrees with the general one, or leaves it to that.
@Suite struct UsualMessageTests {
  static let head = #""id":"1","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"Ann"}"#

  @Test(arguments: [
    #"{\#(head),"text":"look at this"}"#,
    #"{\#(head),"text":"","time":1763841600.25,"mention":true}"#,
    #" { "text" : "Grüße 🦊" , \#(head) , "mention":false , "time":0 } "#,
    #"{\#(head),"text":"a\nb"}"#, #"{\#(head),"text":"a","state":{"seen":{"c":"1"}}}"#,
    #"{"id":"1","text":"a","conversation":{"id":"c","kind":"dm","title":"t"},"sender":{"id":"u","name":"Ann"}}"#,
    #"{"id":"1","text":"a","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"Ann","roles":["r"]}}"#,
  ])
  func `the usual is read as the general decoder reads it`(json: String) throws {
    let quick = try #require(Self.quick(json))
    #expect(quick == (try JSONCoding.decode(MessageReceived.self, from: Array(json.utf8))))
  }

  @Test(arguments: [
    #"{\#(head),"text":"a\xb"}"#, #"{\#(head),"text":"a","state":null}"#, "{\(head),\"text\":\"a\u{1}b\"}",
    #"{\#(head),"text":"a","text":"b"}"#, #"{\#(head),"text":"a","state":{]}"#, #"{\#(head),"text":"a",}"#,
    #"{\#(head),"text":"a"} x"#, #"{\#(head),"text":"a"#, #"{\#(head)}"#, #"{\#(head),"text":null}"#,
    #"{\#(head),"text":"a","time":01}"#, #"{\#(head),"text":"a","time":1e3}"#, #"{\#(head),"text":"a","time":1.}"#,
    #"{\#(head),"text":"a","mention":tru}"#, #"{\#(head),"text":"a","attachments":[]}"#,
    #"{"id":"1","text":"a","conversation":{"id":"c","kind":"cave"},"sender":{"id":"u","name":"Ann"}}"#,
    #"{"id":"1","text":"a","conversation":{"id":"c","kind":"dm","directory":"/"},"sender":{"id":"u","name":"Ann"}}"#,
    #"{"id":"1","text":"a","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"Ann","bot":true}}"#,
    #"{"id":"1","text":"a","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"Ann","roles":[1]}}"#,
    #"{"id":"1","text":"a","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u"}}"#, "[]", "", "7",
  ])
  func `anything else is left to it`(json: String) {
    #expect(Self.quick(json) == nil)
  }

  @Test func `what is no UTF-8 is left to it`() {
    var bytes = Array(#"{\#(Self.head),"text":"a#b"}"#.utf8)
    if let index = bytes.firstIndex(of: UInt8(ascii: "#")) { bytes[index] = 0xFF }
    #expect(bytes.withUnsafeBytes { MessageReceived(usual: $0) } == nil)
  }

  private static func quick(_ json: String) -> MessageReceived? {
    Array(json.utf8).withUnsafeBytes { MessageReceived(usual: $0) }
  }
}
