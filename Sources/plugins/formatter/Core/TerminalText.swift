/// Text as a terminal shows it.
package enum TerminalText {
  /// Removes what a terminal would obey, or what would change how other text is read: control characters other than
  /// line breaks, and characters that turn the direction of writing. A tab becomes spaces.
  package static func harmless(_ text: some StringProtocol) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == 0x0A }) { return String(text) }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result.unicodeScalars.append(scalar)
      case "\t": result += "    "
      default: if !isObeyed(scalar) { result.unicodeScalars.append(scalar) }
      }
    }
    return result
  }

  private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: scalar.properties.generalCategory == .control
    }
  }
}

/// How a character looks.
package struct TerminalStyle: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let bold = TerminalStyle(rawValue: 1)
  package static let dim = TerminalStyle(rawValue: 2)
  static let italic = TerminalStyle(rawValue: 4)
  static let underlined = TerminalStyle(rawValue: 8)
  static let struck = TerminalStyle(rawValue: 16)
  static let code = TerminalStyle(rawValue: 32)

  private static let numbers: [(TerminalStyle, String)] = [
    (.bold, "1"), (.dim, "2"), (.italic, "3"), (.underlined, "4"), (.struck, "9"), (.code, "36"),
  ]

  /// The sequence that turns it on (ECMA-48, SGR).
  var sequence: String {
    "\u{1B}[" + Self.numbers.filter { contains($0.0) }.map(\.1).joined(separator: ";") + "m"
  }

  static let end = "\u{1B}[0m"
}

/// A character with its style.
struct TerminalCell: Equatable {
  let character: Character
  let style: TerminalStyle

  var width: Int { DisplayWidth.of(character) }

  static func cells(_ text: some StringProtocol, _ style: TerminalStyle = []) -> [TerminalCell] {
    TerminalText.harmless(text).map { TerminalCell(character: $0, style: style) }
  }
}

extension [TerminalCell] {
  var width: Int { reduce(0) { $0 + $1.width } }

  var trimmed: [TerminalCell] {
    var cells = self[...]
    while cells.last?.character == " " { cells = cells.dropLast() }
    return Array(cells)
  }

  /// Lines of at most `width` columns, broken at line breaks, spaces, and beside characters of double width. A longer
  /// word stays whole, so that an address can still be copied, unless it must fit.
  func wrapped(to width: Int, cutsWords: Bool = false) -> [[TerminalCell]] {
    var lines: [[TerminalCell]] = []
    var line: [TerminalCell] = []
    var used = 0
    // How many cells of the line come before the next line, if it is broken at its last opportunity.
    var opportunity: Int?
    for cell in self {
      if cell.character.isNewline {
        lines.append(line.trimmed)
        (line, used, opportunity) = ([], 0, nil)
        continue
      }
      let cellWidth = cell.width
      if cell.character != " ", cellWidth == 2 || line.last?.width == 2, !line.isEmpty { opportunity = line.count }
      line.append(cell)
      used += cellWidth
      if used > width, cell.character != " " {
        if let count = opportunity ?? (cutsWords && line.count > 1 ? line.count - 1 : nil) {
          lines.append(Array(line[..<count]).trimmed)
          line = Array(line[count...].drop { $0.character == " " })
          used = line.width
          opportunity = nil
        }
      }
      if cell.character == " ", line.contains(where: { $0.character != " " }) { opportunity = line.count }
    }
    lines.append(line.trimmed)
    return lines
  }
}

/// A line to be written to a terminal.
package struct TerminalLine: Equatable, Sendable {
  /// With its control sequences, and without a line break.
  package let text: String
  /// How many rows of the screen it takes.
  package let rows: Int

  init(_ cells: [TerminalCell], columns: Int) {
    var text = ""
    var style: TerminalStyle = []
    var rows = 1
    var column = 0
    for cell in cells {
      if cell.style != style {
        if !style.isEmpty { text += TerminalStyle.end }
        if !cell.style.isEmpty { text += cell.style.sequence }
        style = cell.style
      }
      text.append(cell.character)
      let width = cell.width
      if column + width > columns {
        rows += 1
        column = width
      } else {
        column += width
      }
    }
    if !style.isEmpty { text += TerminalStyle.end }
    self.text = text
    self.rows = rows
  }

  /// The lines of a text without markup.
  package static func plain(_ text: String, columns: Int, _ style: TerminalStyle = []) -> [TerminalLine] {
    TerminalText.harmless(text).split(separator: "\n", omittingEmptySubsequences: false).map {
      TerminalLine(TerminalCell.cells($0, style), columns: columns)
    }
  }
}
