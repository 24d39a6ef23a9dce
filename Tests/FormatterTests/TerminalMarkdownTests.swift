import Formatter
import TestSupport
import Testing

/// The lines that a terminal shows, with marks in place of control sequences: `<1>` begins bold, `<>` ends every style.
private func shown(_ markdown: String, columns: Int = 60) -> [String] {
  TerminalMarkdown(columns: columns).lines(of: markdown).map(\.text).map(marked)
}

private func marked(_ line: String) -> String {
  var result = ""
  var rest = line[...]
  while let escape = rest.firstIndex(of: "\u{1B}"), let end = rest[escape...].firstIndex(of: "m") {
    let codes = rest[rest.index(escape, offsetBy: 2)..<end]
    result += rest[..<escape] + (codes == "0" ? "<>" : "<\(codes)>")
    rest = rest[rest.index(after: end)...]
  }
  return result + rest
}

@Suite struct TerminalMarkdownTests {
  @Test(arguments: [
    ("plain words", ["plain words"]),
    ("**bold** and *slanted* and ***both***", ["<1>bold<> and <3>slanted<> and <1;3>both<>"]),
    ("~~gone~~ `code`", ["<9>gone<> <36>code<>"]),
    ("line one\nline two\n\nnext", ["line one", "line two", "", "next"]),
    ("# Title\ntext\n## Part", ["<1;4>Title<>", "", "text", "", "<1>Part<>"]),
    ("- a\n- b\n  - c\n- d", ["• a", "• b", "  • c", "• d"]),
    ("9. a\n10. b\n\nafter", ["9. a", "10. b", "", "after"]),
    ("- a\n\n- b", ["• a", "", "• b"]),
    ("- [ ] open\n- [x] done", ["☐ open", "☑ done"]),
    ("> said\n> more\n\nback", ["<2>│ <>said", "<2>│ <>more", "", "back"]),
    ("- > in\n", ["• <2>│ <>in"]),
    ("```swift\nlet a = 1\n\n  b\n```\nafter", ["<36>let a = 1<>", "", "<36>  b<>", "", "after"]),
    ("---", ["<2>" + String(repeating: "─", count: 40) + "<>"]),
    ("[words](http://x.y/z)", ["<4>words<><2> (http://x.y/z)<>"]),
    ("see http://x.y/z now", ["see <4>http://x.y/z<> now"]),
    ("![a fox](fox.png)", ["<4>a fox<><2> (fox.png)<>"]),
    ("a &lt;b&gt; &amp;amp; &#65;", ["a <b> &amp; A"]),
    ("<b>not markup</b>", ["<b>not markup</b>"]),
    ("an unfinished **mark", ["an unfinished **mark"]),
    ("```\nan unfinished block", ["<36>an unfinished block<>"]),
    ("", []),
  ])
  func `markup becomes styles`(markdown: String, lines: [String]) {
    #expect(shown(markdown) == lines)
  }

  @Test func `a table has aligned columns, by width on the screen`() {
    let table = "| name | n |\n|:--|--:|\n| `日本` | 1 |\n| **b** | 22 |"
    #expect(
      shown(table) == [
        "<1>name<>   <1>n<>", "<2>────────<>", "<36>日本<>   1", "<1>b<>     22",
      ])
  }

  @Test func `a table that is too wide has its widest columns wrapped`() {
    let table = "| a | b |\n|---|---|\n| short | some words that do not fit beside it |"
    #expect(
      shown(table, columns: 24) == [
        "<1>a<>      <1>b<>", "<2>" + String(repeating: "─", count: 24) + "<>", "short  some words that",
        "       do not fit beside", "       it",
      ])
  }

  @Test func `text is wrapped to its own indentation`() {
    #expect(
      shown("- some words that go on\n\n> and some words more", columns: 20) == [
        "• some words that go", "  on", "", "<2>│ <>and some words", "<2>│ <>more",
      ])
    #expect(shown(String(repeating: "日本", count: 12), columns: 20).count == 3)
  }

  @Test func `an address and a line of code are not broken`() {
    let address = "http://example.org/" + String(repeating: "x", count: 30)
    #expect(shown("at \(address)", columns: 20) == ["at", "<4>\(address)<>"])
    let code = "let text = \"some words that go on\""
    let lines = TerminalMarkdown(columns: 20).lines(of: "```\n\(code)\n```")
    #expect(lines.map(\.text).map(marked) == ["<36>\(code)<>"])
    #expect(lines.map(\.rows) == [2])
  }

  /// The one promise on which a terminal's safety rests.
  @Test(arguments: [
    "\u{1B}[31mred", "\u{1B}]0;title\u{07}", "`\u{1B}[2J`", "```\u{1B}[2J\n\u{1B}[2J\n```", "&#27;[31m", "&#x1b;[31m",
    "&#x9b;31m", "[a](http://x/\u{1B}[31m)", "[a](http://x/&#27;[31m)", "![\u{9B}31m](\u{1B}c)",
    "| \u{1B}[1m |\n|---|\n| \u{9D}0;x\u{07} |",
    "# \u{1B}Pq\u{1B}\\", "- \u{08}\u{08}x\ry", "> \u{7F}\u{202E}evil", "\u{0}\u{1B}[31m", "a\u{2066}b\u{061C}",
    "\\\u{1B}[31m",
  ])
  func `control sequences of the text do not reach the terminal`(markdown: String) {
    let lines = TerminalMarkdown(columns: 40).lines(of: markdown) + TerminalLine.plain(markdown, columns: 40)
    for line in lines { expectHarmless(line.text) }
  }

  @Test func `random text gives no control sequence`() {
    let parts = [
      "\u{1B}", "[", "31m", "]", "0;", "\u{07}", "\u{9B}", "&#27;", "&#x1B;", "`", "```", "\n", "*", "_", "|", "-", "(",
      ")", "!", "> ", "- ", "# ", "\\", "<", "\t", "\r", "\u{202E}", "word", " ", "日", "🦊", "\u{301}",
    ]
    var generator = SplitMix(seed: 20)
    for _ in 0..<3_000 {
      let text = (0..<Int.random(in: 1...20, using: &generator)).map { _ in parts.randomElement(using: &generator)! }
        .joined()
      for line in TerminalMarkdown(columns: 30).lines(of: text) { expectHarmless(line.text) }
    }
  }

  /// Every escape begins a style of ours, and nothing else is a control character.
  private func expectHarmless(_ text: String) {
    let ours: Set<String> = ["0", "1", "2", "3", "4", "9", "36"]
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      guard scalar == "\u{1B}" else {
        #expect(scalar.properties.generalCategory != .control && !(0x202A...0x202E).contains(scalar.value), "\(text)")
        continue
      }
      let sequence = String(String.UnicodeScalarView(rest.prefix { $0 != "m" }))
      #expect(sequence.first == "[", "\(text)")
      #expect(sequence.dropFirst().split(separator: ";").allSatisfy { ours.contains(String($0)) }, "\(text)")
      rest = rest.dropFirst(sequence.unicodeScalars.count + 1)
    }
  }
}
