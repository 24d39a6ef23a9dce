// For protocols in lines of plain text, where a line's end in a text would begin another command.

extension String {
  /// The text in lines of at most `room` bytes of UTF-8. No character is torn apart, and no word that fits into a line; a single
  /// character larger than `room` is a line of its own. Empty lines are left out, and so are control characters, which could end a
  /// line or begin a request to the reader's program; a tab becomes a space.
  public func lines(ofBytes room: Int) -> [String] {
    var (lines, line) = ([String](), "")
    for character in self {
      if line.utf8.count + character.utf8.count > room, !character.isNewline {
        let cut = line.lastIndex(of: " ") ?? line.endIndex
        lines.append(String(line[..<cut]))
        line = String(line[cut...].dropFirst())
      }
      if character.isNewline {
        lines.append(line)
        line = ""
      } else if !character.isControl {
        line.append(character)
      } else if character == "\t" {
        line.append(" ")
      }
    }
    return (lines + [line]).filter { $0.contains { $0 != " " } }
  }

  /// The text without control characters, line ends among them.
  public var withoutControls: String { filter { !$0.isControl } }
}

extension Character {
  fileprivate var isControl: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
