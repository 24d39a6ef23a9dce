/// A table as lines of a fixed-width font: columns padded by display width, two spaces between them, a rule under the
/// header.
package enum TableText {
  package static func lines(of table: MarkdownTable) -> [String] {
    let columns = table.alignments.count
    let rows = table.rows.map { row in (0..<columns).map { $0 < row.count ? tidy(row[$0]) : "" } }
    let widths = (0..<columns).map { column in rows.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
    var lines = rows.map { row in
      trimmed((0..<columns).map { pad(row[$0], to: widths[$0], table.alignments[$0]) }.joined(separator: "  "))
    }
    let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "──")
    if !lines.isEmpty { lines.insert(rule, at: 1) }
    return lines
  }

  private static func tidy(_ cell: String) -> String {
    cell.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  private static func pad(_ cell: String, to width: Int, _ alignment: MarkdownTable.Alignment) -> String {
    let missing = max(0, width - DisplayWidth.of(cell))
    let left =
      switch alignment {
      case .left: 0
      case .center: missing / 2
      case .right: missing
      }
    return String(repeating: " ", count: left) + cell + String(repeating: " ", count: missing - left)
  }

  private static func trimmed(_ line: String) -> String {
    var line = line[...]
    while line.last == " " { line = line.dropLast() }
    return String(line)
  }
}
