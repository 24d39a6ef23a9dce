import Logging
import Testing

@testable import RelayLogging

@Suite struct LogLineTests {
  private static let time = "2026-11-25T02:11:03.123Z "

  static let lines = [
    LogLine(.info, "the configuration was read again"),
    LogLine(.warning, "it ended with exit code 1", metadata: ["instance": "discord/work"]),
    LogLine(.error, "no", metadata: ["session": "1f3a-9", "conversation": "c 1", "instance": "x", "attempt": "2"]),
    LogLine(.debug, "[3 lines were left out]"),
    LogLine(.notice, "[a=b] is no metadata"),
    LogLine(.notice, "info is not the level", metadata: ["session": ""]),
    LogLine(.critical, "", metadata: ["conversation": #"quo"te\ and ] and = and"# + "\n line"]),
  ]

  @Test(arguments: lines) func `a line of the file reads back as it was written`(line: LogLine) {
    #expect(LogLine(parsing: Self.time + line.text) == line, "\(line.text)")
  }

  @Test func `a line has level, metadata in a fixed order, and message`() {
    #expect(Self.lines[0].text == "info the configuration was read again")
    #expect(Self.lines[2].text == #"error [instance=x session=1f3a-9 conversation="c 1" attempt=2] no"#)
    #expect(Self.lines[3].text == "debug [] [3 lines were left out]")
  }

  @Test func `a terminal is shown the subject of a line and its message`() {
    #expect(Self.lines[0].terminalText == "the configuration was read again")
    #expect(Self.lines[1].terminalText == "discord/work: it ended with exit code 1")
    let conversation = ["instance": "discord/work", "conversation": "c1"]
    #expect(LogLine(.error, "no", metadata: conversation).terminalText == "discord/work:c1: no")
    let session = ["session": "1f3a", "name": "app"]
    #expect(LogLine(.error, "no", metadata: session).terminalText == "session app: no")
  }

  @Test(arguments: ["", "x", "  in: sessions", "2026-11-25 no time", "info: text", "relay.yaml:3:5: unknown key"])
  func `lines without a time continue the line before`(line: String) {
    #expect(LogLine(parsing: line) == nil)
  }

  @Test(arguments: ["upgrading to /x", "[session=1] text", "[session", "warning"])
  func `a line of an earlier version, without a level, counts as info`(message: String) {
    #expect(LogLine(parsing: Self.time + message) == LogLine(.info, message))
  }

  @Test(arguments: ["[session=1", "[session=1]", "[session]", #"[session="1] x"#, "[=] x"])
  func `broken metadata is part of the message`(message: String) throws {
    let line = try #require(LogLine(parsing: "\(Self.time)error \(message)"))
    #expect(line.level == .error && (line.message == message || line.metadata == ["": ""]))
  }
}

@Suite struct LogFilterTests {
  private static let file = """
    2026-11-25T02:11:03.123Z info [session=1f3a conversation=c1] started
    2026-11-25T02:11:03.124Z warning [instance=discord/work] it ended
    2026-11-25T02:11:03.125Z error the configuration was not taken: relay.yaml:3:5: unknown key
    relay.yaml:4:5: another
    2026-11-25T02:11:03.126Z error [session=1f3b] no
    2026-11-25T02:11:03.127Z text of an earlier version
    """.split(separator: "\n")

  private func chosen(_ level: Logger.Level?, _ sessions: [String]) -> [Int] {
    var filter = LogFilter(level: level, sessions: sessions)
    return Self.file.indices.filter { filter.take(Self.file[$0]) }
  }

  @Test func `a level selects its lines and those above, with the lines that continue them`() {
    #expect(chosen(.debug, []) == [0, 1, 2, 3, 4, 5])
    #expect(chosen(.warning, []) == [1, 2, 3, 4])
    #expect(chosen(.error, []) == [2, 3, 4])
    #expect(chosen(.critical, []) == [])
  }

  @Test func `a session is selected by the beginning of its id`() {
    #expect(chosen(nil, ["1f3a"]) == [0])
    #expect(chosen(nil, ["1f3"]) == [0, 4])
    #expect(chosen(.error, ["1f3"]) == [4])
    #expect(chosen(nil, ["f3"]) == [])
  }

  @Test func `a continued line at the beginning is shown only without a selection`() {
    for (level, isShown) in [(nil, true), (Logger.Level.info, false)] {
      var filter = LogFilter(level: level)
      let taken = filter.take("a line that continues one of the file before")
      #expect(taken == isShown)
    }
  }
}
