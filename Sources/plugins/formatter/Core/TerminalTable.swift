/// A table for a terminal: columns side by side, words wrapped inside them where the terminal is too narrow.
struct TerminalTable {
  /// The first row is the header.
  var rows: [[[TerminalCell]]] = []
  var alignments: [MarkdownTable.Alignment] = []

  private static let gap = 2
  /// A column is made no narrower than this.
  private static let narrowest = 5

  func lines(within width: Int) -> [[TerminalCell]] {
    let widths = widths(within: width)
    var lines: [[TerminalCell]] = []
    for (number, row) in rows.enumerated() {
      let cells = widths.indices.map { column in
        (column < row.count ? row[column] : []).wrapped(to: widths[column], cutsWords: true)
      }
      for index in 0..<(cells.map(\.count).max() ?? 0) {
        var line: [TerminalCell] = []
        for column in widths.indices {
          if column > 0 { line += Self.space(Self.gap) }
          let text = index < cells[column].count ? cells[column][index] : []
          line += Self.pad(text, to: widths[column], alignments[column])
        }
        lines.append(line)
      }
      if number == 0 {
        let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "──")
        lines.append(TerminalCell.cells(rule, .dim))
      }
    }
    return lines
  }

  /// As wide as the words, or less for the widest columns.
  private func widths(within width: Int) -> [Int] {
    var widths = alignments.indices.map { column in
      max(1, rows.map { column < $0.count ? $0[column].width : 0 }.max() ?? 0)
    }
    var excess = widths.reduce(0, +) + Self.gap * (widths.count - 1) - width
    while excess > 0, let widest = widths.max(), widest > Self.narrowest, let column = widths.firstIndex(of: widest) {
      widths[column] -= 1
      excess -= 1
    }
    return widths
  }

  private static func space(_ count: Int) -> [TerminalCell] {
    TerminalCell.cells(String(repeating: " ", count: count))
  }

  private static func pad(
    _ cells: [TerminalCell], to width: Int, _ alignment: MarkdownTable.Alignment
  ) -> [TerminalCell] {
    let missing = max(0, width - cells.width)
    let left =
      switch alignment {
      case .left: 0
      case .center: missing / 2
      case .right: missing
      }
    return space(left) + cells + space(missing - left)
  }
}
