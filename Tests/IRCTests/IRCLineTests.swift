import Testing

@testable import IRC

@Suite struct IRCLineTests {
  private func read(_ text: String) -> IRCLine? { IRCLine(Array(text.utf8)) }

  @Test func `a line has tags, a source, a command and parameters, of which the last may hold spaces`() throws {
    let line = try #require(
      read("@time=2026-11-24T10:00:00.000Z;account=ann;+x :ann!~a@home.test privmsg #work :hi  there: \r"))
    #expect(line.tags == ["time": "2026-11-24T10:00:00.000Z", "account": "ann", "+x": ""])
    #expect(line.source == "ann!~a@home.test" && line.nick == "ann")
    #expect(line.command == "PRIVMSG" && line.parameters == ["#work", "hi  there: "])
    #expect(line[0] == "#work" && line[7] == "" && line.text == "hi  there: ")
  }

  @Test func `lines that lack some of these parts are lines, too`() {
    #expect(read("PING x")?.parameters == ["x"])
    #expect(read(":irc.test 376 me :")?.text == "")
    for nothing in ["", ":irc.test", "@a=b", "   "] { #expect(read(nothing) == nil, "\(nothing)") }
    #expect(IRCLine([0xFF, 0x20, 0x3A, 0xC3])?.parameters.count == 1)
  }

  @Test func `colours and styles are removed from messages`() {
    #expect(IRCText.plain("\u{3}04,12red\u{3} \u{2}bold\u{F} \u{4}FF0000x") == "red bold x")
    #expect(IRCText.plain("\u{3}5 apples") == " apples")
  }

  @Test func `masks match names of people, with special characters taken literally`() {
    #expect(IRCText.matches("Ann!~ann@Home.Test", mask: "*!~ann@*.test"))
    #expect(!IRCText.matches("ann!~ann@home.test.evil", mask: "*!~ann@*.test"))
    #expect(IRCText.matches("[a]!u@h", mask: "[a]!u@?"))
    #expect(!IRCText.matches("a!u@h", mask: "[a]!u@h"))
    #expect(IRCText.matches("a\\b!u@h", mask: "a\\b!u@h"))
  }
}
