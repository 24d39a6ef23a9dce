/// Makes other people's words harmless before they stand in a prompt, a message or a log.
package enum SafeText {
  /// One line without control or bidirectional characters, white space collapsed, at most `limit` characters.
  package static func line(_ text: String, limit: Int = 48) -> String {
    var words: [String] = []
    var word = ""
    for scalar in text.unicodeScalars {
      if scalar.properties.isWhitespace || isControl(scalar) && !isInvisible(scalar) {
        if !word.isEmpty { words.append(word) }
        word = ""
      } else if !isInvisible(scalar) {
        word.unicodeScalars.append(scalar)
      }
    }
    if !word.isEmpty { words.append(word) }
    return String(words.joined(separator: " ").prefix(limit))
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control
  }

  /// Characters that show nothing but change how others are read: bidirectional overrides, isolates, joiners' kin.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x2069, 0xFEFF, 0x061C, 0x180E, 0xFFF9...0xFFFB,
      0xE0000...0xE007F:
      true
    default: false
    }
  }
}
