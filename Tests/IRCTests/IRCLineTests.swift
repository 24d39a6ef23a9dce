import Testing

@testable import IRC

@Suite struct IRCLineTests {
  private func read(_ text: String) -> IRCLine? { IRCLine(Array(text.utf8)) }

  @Test func `a line has tags, a source, a command and parameters, of which the last may hold blanks`() throws {
    let line = try #require(
      read("@time=2026-11-24T10:00:00.000Z;account=ann;+x :ann!~a@home.test privmsg #work :hi  there: \r"))
    #expect(line.tags == ["time": "2026-11-24T10:00:00.000Z", "account": "ann", "+x": ""])
    #expect(line.source == "ann!~a@home.test" && line.nick == "ann")
    #expect(line.command == "PRIVMSG" && line.parameters == ["#work", "hi  there: "])
    #expect(line[0] == "#work" && line[7] == "" && line.text == "hi  there: ")
  }

  @Test func `lines without all of this are lines, too`() {
    #expect(read("PING x")?.parameters == ["x"])
    #expect(read(":irc.test 376 me :")?.text == "")
    for nothing in ["", ":irc.test", "@a=b", "   "] { #expect(read(nothing) == nil, "\(nothing)") }
    #expect(IRCLine([0xFF, 0x20, 0x3A, 0xC3])?.parameters.count == 1)
  }

  @Test func `a text is cut between words, and within one only where it is longer than a line`() {
    #expect(IRCText.lines("one two three", room: 8) == ["one two", "three"])
    #expect(IRCText.lines("one\n\ntwo\r\n  indented", room: 20) == ["one", "two", "  indented"])
    #expect(IRCText.lines("abcdefghij", room: 4) == ["abcd", "efgh", "ij"])
    #expect(IRCText.lines("  \n ", room: 10) == [])
  }

  @Test func `no character is torn apart, whatever room there is`() {
    let text = "Grüße 👩‍👩‍👧‍👦 und 日本語 mit 🦊🦊🦊 darin"
    for room in 25...60 {
      let lines = IRCText.lines(text, room: room)
      #expect(lines.allSatisfy { $0.utf8.count <= room })
      #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
    }
  }

  @Test func `a text can neither end a line nor begin a request to the reader's program`() {
    #expect(IRCText.lines("\u{1}DCC SEND\u{1}", room: 99) == ["DCC SEND"])
    #expect(IRCText.lines("a\0b\tc\u{7}", room: 99) == ["ab c"])
    #expect(IRCText.lines("a\rQUIT", room: 99) == ["a", "QUIT"])
  }

  @Test func `colours and styles are taken out of what people write`() {
    #expect(IRCText.plain("\u{3}04,12red\u{3} \u{2}bold\u{F} \u{4}FF0000x") == "red bold x")
    #expect(IRCText.plain("\u{3}5 apples") == " apples")
  }

  @Test func `masks match names of people, their own characters taken as they are`() {
    #expect(IRCText.matches("Ann!~ann@Home.Test", mask: "*!~ann@*.test"))
    #expect(!IRCText.matches("ann!~ann@home.test.evil", mask: "*!~ann@*.test"))
    #expect(IRCText.matches("[a]!u@h", mask: "[a]!u@?"))
    #expect(!IRCText.matches("a!u@h", mask: "[a]!u@h"))
    #expect(IRCText.matches("a\\b!u@h", mask: "a\\b!u@h"))
  }
}
