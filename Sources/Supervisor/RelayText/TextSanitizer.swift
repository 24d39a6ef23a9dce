/// Makes other people's words harmless before they stand in a prompt, a message or a log.
package enum TextSanitizer {
  /// A single line without control, bidirectional and invisible characters, white space collapsed, at most `limit`
  /// characters and four times as many bytes of UTF-8.
  package static func line(_ text: String, limit: Int = 48) -> String {
    let maximumBytes = limit > .max / bytesPerCharacter ? .max : limit * bytesPerCharacter
    var line = String.UnicodeScalarView()
    var bytes = 0
    var isBetweenWords = false
    for scalar in text.unicodeScalars {
      if isJoiner(scalar) {
        if line.isEmpty || isBetweenWords { continue }
      } else if isInvisible(scalar) {
        continue
      } else if scalar.properties.isWhitespace || scalar.properties.generalCategory == .control {
        isBetweenWords = !line.isEmpty
        continue
      }
      bytes += UTF8.width(scalar) + (isBetweenWords ? 1 : 0)
      guard bytes <= maximumBytes else { break }
      if isBetweenWords { line.append(" ") }
      isBetweenWords = false
      line.append(scalar)
    }
    return String(String(line).prefix(limit))
  }

  /// A person's name as the label of that person's words: without a bracket that could end the label or begin another.
  package static func name(_ text: String) -> String {
    let name = line(String(String.UnicodeScalarView(text.unicodeScalars.filter { !isBracket($0) })))
    return name.isEmpty ? "someone" : name
  }

  /// Words that are quoted between brackets of ours.
  package static func quotation(_ text: String, limit: Int) -> String { line(withRoundBrackets(text), limit: limit) }

  /// The name of a file as it is written in the agent's prompt.
  package static func fileName(_ text: String) -> String {
    let name = line(withRoundBrackets(text))
    return name.isEmpty ? "file" : name
  }

  /// Enough for every character of one scalar. A flag or a family is one character of several; marks may be piled on one
  /// without end.
  private static let bytesPerCharacter = 4

  /// Joins or changes the visible character before it, as in emoji and in Persian; by itself it shows nothing.
  private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
    [0x200C, 0x200D, 0xFE0E, 0xFE0F].contains(scalar.value)
  }

  /// Shows nothing, but changes how others are read: all that Unicode calls a format or ignorable by default, which
  /// includes every bidirectional control, fillers and tags; and the blank of Braille, which it does not.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.generalCategory == .format
      || scalar.value == 0x2800
  }

  private static func isBracket(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "(", ")": false
    case "<", ">": true
    default: [.openPunctuation, .closePunctuation].contains(scalar.properties.generalCategory)
    }
  }

  /// Square brackets and what looks like them.
  private static func withRoundBrackets(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "[", "［", "【", "〔", "〖", "〚", "⟦", "⁅", "❲", "⦋", "﹝": result.append("(")
      case "]", "］", "】", "〕", "〗", "〛", "⟧", "⁆", "❳", "⦌", "﹞": result.append(")")
      default: result.append(scalar)
      }
    }
    return String(result)
  }
}

extension String {
  /// The beginning that fits into this many bytes of UTF-8, with an ellipsis where something was cut off.
  package func cut(toBytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(startIndex, offsetBy: max(0, limit - "…".utf8.count))
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return self[..<end] + "…"
  }
}
