import Formatter
import RelayJSON
import RelayText
import RelayWire
import TestSupport
import Testing

private func split(
  _ text: String, limit: Int = 2_000, unit: LengthUnit = .utf16, final: Bool = true
) -> [FormatRender.Piece] {
  Splitter.split(FormatRender(text: text, dialect: "discord", limit: limit, unit: unit, final: final))
}

private func texts(_ text: String, limit: Int = 2_000, unit: LengthUnit = .utf16) -> [String] {
  split(text, limit: limit, unit: unit).map(\.text)
}

@Suite struct SplitterTests {
  @Test func `a short text is one piece, unchanged`() {
    let text = "Hello **world**.\n\n- one\n- two"
    #expect(split(text) == [FormatRender.Piece(text: text, consumed: text.utf8.count)])
    #expect(split("").isEmpty)
    #expect(split("\n \n\n").isEmpty)
  }

  /// Texts that the host does not even ask about.
  @Test(arguments: ["discord", "plain"]) func `plain text is shown unchanged`(dialect: String) {
    let parts = [
      "word", "Word", "Überß", "日本", "🦊", " ", " ", "\n", "\n\n", ". ", ", ", ": ", "? ", "42", " 7. ", " - ", "don't",
      " (so) ", "a/b", "50%", "#", "* ", "`", "> ", "|", "_", "- ", "1. ", "<", "http://x.y/z", "\u{A0}", "\u{2028}",
      "www.a.bc",
    ]
    var generator = SplitMix(seed: 23)
    var plain = 0
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 1...9, using: &generator)).map { _ in parts.randomElement(using: &generator)! }
        .joined()
      guard PlainText.isPlain(text), !text.isEmpty else { continue }
      plain += 1
      let request = FormatRender(
        text: text, dialect: dialect, limit: 2_000, unit: .utf16, final: plain.isMultiple(of: 2))
      #expect(
        Splitter.split(request) == [FormatRender.Piece(text: text, consumed: text.utf8.count)],
        "\(text.debugDescription)")
    }
    #expect(plain > 1_000)
    for text in ["# a", "a\n- b", "a  \nb", "1. a", " a", "a\n", "*a*", "a | b", "a\n\n\nb"] {
      #expect(!PlainText.isPlain(text))
    }
  }

  @Test func `a text is cut at the end of a paragraph`() {
    let first = String(repeating: "a", count: 30)
    let second = String(repeating: "b", count: 30)
    #expect(texts("\(first)\n\n\(second)", limit: 50) == [first, second])
  }

  @Test func `a text is cut at the end of a line`() {
    let lines = (1...8).map { "line number \($0)" }
    for piece in texts(lines.joined(separator: "\n"), limit: 40) {
      #expect(piece.split(separator: "\n").allSatisfy { lines.contains(String($0)) })
    }
  }

  @Test func `a long line is cut at the end of a sentence, else of a word`() {
    #expect(
      texts("This is the first sentence. And here is the second.", limit: 40)
        == ["This is the first sentence.", "And here is the second."])
    #expect(texts("word another word more words end", limit: 32).count == 1)
    #expect(
      texts("aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb", limit: 32) == ["aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb"])
  }

  @Test func `a line without any space is cut between characters`() {
    let family = "👨‍👩‍👧‍👦"
    let pieces = texts(String(repeating: family, count: 40), limit: 50)
    #expect(pieces.joined() == String(repeating: family, count: 40))
    #expect(pieces.allSatisfy { $0.utf16.count <= 50 && $0.allSatisfy { String($0) == family } })
  }

  @Test func `one character longer than a message is shown all the same`() {
    let zalgo = "e" + String(repeating: "\u{301}", count: 300)
    let pieces = texts(zalgo, limit: 100)
    #expect(pieces.count > 1)
    #expect(pieces.joined().unicodeScalars.elementsEqual(zalgo.unicodeScalars))
  }

  @Test(arguments: ["```", "````", "~~~", "~~~~~"]) func `a code block is closed and opened again`(marks: String) {
    let code = (1...20).map { "let value\($0) = \($0)" }
    let source = "Before\n\(marks)swift\n\(code.joined(separator: "\n"))\n\(marks)\nAfter"
    let pieces = texts(source, limit: 120)
    #expect(pieces.count > 2)
    for piece in pieces.dropFirst().dropLast() {
      #expect(piece.hasPrefix("\(marks)swift\n"))
      #expect(piece.hasSuffix("\n\(marks)"))
    }
    let shown = pieces.flatMap { $0.split(separator: "\n").map(String.init) }.filter { $0.hasPrefix("let ") }
    #expect(shown == code)
  }

  @Test func `a shorter fence inside a longer one does not close it`() {
    let source = "````md\n```\ninner\n```\n" + String(repeating: "more\n", count: 20) + "````"
    for piece in texts(source, limit: 60) {
      #expect(piece.hasPrefix("````md\n") && piece.hasSuffix("\n````"))
    }
  }

  @Test func `a table becomes an aligned code block`() {
    let table = "| Name | State | 説明 |\n|---|:-:|--:|\n| relay | **running** | 中継 |\n| pi | idle 🦊 | エージェント |"
    #expect(
      texts("Look:\n\n\(table)\n\nEnd") == [
        """
        Look:

        ```
        Name    State           説明
        ────────────────────────────
        relay  running          中継
        pi     idle 🦊  エージェント
        ```

        End
        """
      ])
  }

  @Test func `pipes in code and in prose do not make a table`() {
    let source = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\nx | y"
    #expect(texts(source) == [source])
  }

  @Test func `rows without outer pipes are a table too`() {
    #expect(texts("a | b\n---|---\n1 | 2")[0].hasPrefix("```\na  b\n────\n1  2\n```"))
  }

  @Test func `a growing table waits until it is complete`() {
    let pieces = split("Text\n\n| a | b |\n|---|---|\n| 1 |", final: false)
    #expect(pieces.map(\.text) == ["Text"])
    #expect(pieces[0].consumed == 6)
  }

  @Test(arguments: LengthUnit.allCases) func `each piece is within the limit in its unit`(unit: LengthUnit) {
    let text =
      String(repeating: "Größe 🦊 説明 word. ", count: 200) + "\n```\n" + String(repeating: "é", count: 500) + "\n```"
    for limit in [32, 50, 99, 333, 2_000] {
      for piece in split(text, limit: limit, unit: unit) { #expect(unit.count(piece.text) <= limit) }
    }
  }

  /// The characters that a reader sees, without fences and white space, which must be those that were written.
  private static func essence(_ text: String) -> String {
    String(text.filter { !$0.isWhitespace && $0 != "`" && $0 != "~" })
  }

  @Test func `no text is lost or shown twice`() {
    var generator = SplitMix(seed: 7)
    let parts = [
      "word ", "a longer piece of prose. ", "\n", "\n\n", "```Ω\n", "```\n", "~~~\n", "````\n", "🦊", "説明", "x",
      "- item\n",
      "# title\n", String(repeating: "y", count: 90), "é́́", "> quote\n", "  ", "\t", "1. one\n", "`code` ",
    ]
    for round in 0..<2_000 {
      let text = (0..<Int.random(in: 1...60, using: &generator)).map { _ in parts.randomElement(using: &generator)! }
        .joined()
      let limit = Int.random(in: 40...200, using: &generator)
      let pieces = split(text, limit: limit)
      #expect(pieces.allSatisfy { $0.text.utf16.count <= limit }, "round \(round)")
      // Fence lines may be repeated with their language; everything else appears once.
      let seen = Self.essence(pieces.map(\.text).joined()).replacing("Ω", with: "")
      #expect(seen == Self.essence(text).replacing("Ω", with: ""), "round \(round): \(text.debugDescription)")
      #expect(pieces.map(\.consumed) == pieces.map(\.consumed).sorted())
    }
  }

  @Test func `rendering the rest after a piece continues where it stopped`() {
    var generator = SplitMix(seed: 11)
    let parts = ["word ", "sentence. ", "\n", "\n\n", "```Ω\n", "```\n", "説明", String(repeating: "y", count: 90), "🦊"]
    for round in 0..<500 {
      let text = (0..<40).map { _ in parts.randomElement(using: &generator)! }.joined()
      var source = text
      var seen = ""
      // As the host does while a text grows: fix the first piece, render the rest alone.
      for _ in 0..<200 {
        let pieces = split(source, limit: 100)
        guard let first = pieces.first else { break }
        seen += first.text
        if pieces.count == 1 { break }
        source = (first.reopen ?? "") + String(decoding: source.utf8.dropFirst(first.consumed), as: UTF8.self)
      }
      let want = Self.essence(text).replacing("Ω", with: "")
      #expect(Self.essence(seen).replacing("Ω", with: "") == want, "round \(round): \(text.debugDescription)")
    }
  }

  // 200 KB each: a step that takes the square of the length would hold up the whole run.
  @Test(arguments: ["| a ", "|-", "[", "*_", "```\n", "| a | b |\n|---|---|\n", "> ", "\u{301}", "`", "a b"])
  func `hostile input is split within the limits`(unit: String) {
    let text = String(repeating: unit, count: 200_000 / unit.utf8.count)
    #expect(split(text).allSatisfy { $0.text.utf16.count <= 2_000 })
  }
}

@Suite struct ToolSummaryTests {
  private func line(_ name: String, _ arguments: JSONValue, dialect: String = "discord", failed: Bool? = nil) -> String
  {
    ToolSummary.lines(
      of: FormatTool(calls: [.init(name: name, arguments: arguments, failed: failed)], dialect: dialect))[0]
  }

  @Test func `the telling argument of each tool is shown`() {
    #expect(line("bash", ["command": "ls -l\necho"]) == "🔧 **bash** `$ ls -l echo`")
    #expect(line("bash", ["command": "ls"], dialect: "plain") == "🔧 bash ($ ls)")
    #expect(line("read", ["path": "a/b.txt", "limit": 3]) == "🔧 **read** `a/b.txt`")
    #expect(line("find", ["pattern": "*.c", "max": 3, "all": true]) == "🔧 **find** `all=true max=3 pattern=*.c`")
    #expect(line("noop", [:]) == "🔧 **noop**")
    #expect(line("bash", ["command": "x"], failed: true).hasSuffix("✗"))
  }

  @Test func `long arguments are cut and backticks cannot break out`() {
    let long = line("bash", ["command": .string(String(repeating: "x", count: 500))])
    #expect(long.count < 130 && long.contains("…"))
    #expect(line("bash", ["command": "echo `date`"]) == "🔧 **bash** `` $ echo `date` ``")
  }
}
