import MessengerKit
import Testing

@Suite struct PlainLineTests {
  @Test func `a text is cut between words, and within one only when it is longer than a line`() {
    #expect("one two three".lines(ofBytes: 8) == ["one two", "three"])
    #expect("one\n\ntwo\r\n  indented".lines(ofBytes: 20) == ["one", "two", "  indented"])
    #expect("abcdefghij".lines(ofBytes: 4) == ["abcd", "efgh", "ij"])
    #expect("  \n ".lines(ofBytes: 10) == [])
  }

  @Test func `no character is divided at any limit`() {
    let text = "Grüße 👩‍👩‍👧‍👦 und 日本語 mit 🦊🦊🦊 darin"
    for room in 25...60 {
      let lines = text.lines(ofBytes: room)
      #expect(lines.allSatisfy { $0.utf8.count <= room })
      #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
    }
  }

  @Test func `a text can neither end a line nor begin a request to the reader's program`() {
    #expect("\u{1}DCC SEND\u{1}".lines(ofBytes: 99) == ["DCC SEND"])
    #expect("a\0b\tc\u{7}".lines(ofBytes: 99) == ["ab c"])
    #expect("a\rQUIT".lines(ofBytes: 99) == ["a", "QUIT"])
  }
}

@Suite struct AddressedTextTests {
  @Test(
    arguments: [
      ("pibot: hello", "hello", true), ("PiBot,hello", "hello", true), ("pibot hello", "pibot hello", false),
      ("hello", "hello", false), ("pibot:", "", true),
    ])
  func `a text that begins with a name and a colon or comma is for that name`(
    text: String, rest: String, isAddressed: Bool
  ) {
    #expect(text.addressed(to: "pibot") == (rest, isAddressed))
  }

  @Test func `a command may begin with an exclamation mark, which other texts keep`() {
    #expect("!status".withCommandSlash == "/status")
    for text in ["!", "!!", "! status", "/status", "status!"] { #expect(text.withCommandSlash == text) }
  }
}
