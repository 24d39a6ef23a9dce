/// A line of rendered text, and its source.
struct RenderedLine: Equatable {
  /// Without its newline.
  var text: Substring
  /// Bytes of the source shown once this line is.
  var consumed: Int
  /// The code block it belongs to; nil outside, and on fence lines themselves.
  var fence: Fence?
  /// It is the fence line that opens or closes a block.
  var isFenceLine = false
  /// The text that must precede the rest of the source when the rest is rendered alone; `nil` means the fence, if any.
  var reopen: String?
  /// The offset of the text in the source, if the source contains it byte for byte; `nil` for rendered lines.
  var start: Int?
}

/// Markdown → rendered lines of a dialect.
enum MarkdownRenderer {
  /// - Parameter final: false while the text grows: a table at the end that may not be complete is left for later.
  static func lines(of source: String, final: Bool) -> [RenderedLine] {
    var lines = Lines(source)
    var result: [RenderedLine] = []
    var fence: Fence?
    var tables = MarkdownTables.find(in: source)[...]
    let end = final ? lines.count : lines.endOfSettledLines
    while lines.index < end {
      let line = lines.current
      if let open = fence {
        if open.isClosed(by: line.text) {
          fence = nil
          result.append(
            RenderedLine(text: line.text, consumed: line.end, isFenceLine: true, reopen: "", start: line.start))
        } else {
          result.append(RenderedLine(text: line.text, consumed: line.end, fence: open, start: line.start))
        }
        lines.index += 1
      } else if let table = tables.first, let first = lines.firstLine(of: table), first <= lines.index {
        tables.removeFirst()
        if first == lines.index { append(table, &lines, &result) }
      } else {
        if let opening = Fence(opening: line.text) {
          fence = opening
          result.append(
            RenderedLine(
              text: line.text, consumed: line.end, isFenceLine: true, reopen: opening.opener + "\n",
              start: line.start))
        } else {
          result.append(RenderedLine(text: line.text, consumed: line.end, start: line.start))
        }
        lines.index += 1
      }
    }
    return result
  }

  /// A table becomes a code block. Its source lines are the header, the delimiter and one for each other row.
  private static func append(_ table: MarkdownTable, _ lines: inout Lines, _ result: inout [RenderedLine]) {
    let rendered = TableText.lines(of: table)
    let fence = Fence(around: rendered)
    let start = lines.index
    func end(_ row: Int) -> Int { lines.end(of: start + row) }
    let header = lines.source(from: start, through: start + 1)
    result.append(
      RenderedLine(
        text: fence.opener[...], consumed: lines.start(of: start), isFenceLine: true, reopen: ""))
    for (index, text) in rendered.enumerated() {
      // Rendered: header, rule, rows. Source: header, delimiter, rows.
      result.append(
        RenderedLine(
          text: text[...], consumed: end(index), fence: fence, reopen: index < 2 ? nil : header))
    }
    result.append(
      RenderedLine(
        text: fence.closer[...], consumed: end(rendered.count - 1), isFenceLine: true, reopen: ""))
    lines.index = min(lines.count, start + rendered.count)
  }

  /// The source's lines with their byte offsets.
  private struct Lines {
    private let source: String
    private var texts: [Substring] = []
    private var starts: [Int] = []
    var index = 0

    init(_ source: String) {
      self.source = source
      var offset = 0
      for line in source.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
        texts.append(Substring(line))
        starts.append(offset)
        offset += line.count + 1
      }
    }

    var count: Int { texts.count }
    var current: (text: Substring, start: Int, end: Int) { (texts[index], starts[index], end(of: index)) }

    func start(of line: Int) -> Int { starts[min(line, starts.count - 1)] }

    /// Behind the line's newline, or the end of the source.
    func end(of line: Int) -> Int { line + 1 < starts.count ? starts[line + 1] : source.utf8.count }

    func source(from first: Int, through last: Int) -> String {
      texts[first...min(last, texts.count - 1)].joined(separator: "\n") + "\n"
    }

    /// The header's line of a table; `nil` when its place is unknown.
    func firstLine(of table: MarkdownTable) -> Int? {
      var low = 0
      var high = starts.count
      while low + 1 < high {
        let middle = (low + high) / 2
        if starts[middle] <= table.firstText { low = middle } else { high = middle }
      }
      // A row behind the header has the delimiter line between.
      let line = low - (table.firstTextRow == 0 ? 0 : table.firstTextRow + 1)
      return line >= 0 ? line : nil
    }

    /// Lines before a run of possible table rows at the very end.
    var endOfSettledLines: Int {
      var end = texts.count
      while end > 0, texts[end - 1].utf8.contains(UInt8(ascii: "|")), texts.count - end < 200 { end -= 1 }
      return end
    }
  }
}
