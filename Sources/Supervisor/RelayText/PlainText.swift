package import RelayWire

/// Splits text without the formatter, for the time when the formatter is away.
package enum PlainText {
  /// Reports whether a text shows as it is in every dialect: words in paragraphs, without a sign that means something
  /// anywhere.
  package static func isPlain(_ text: String) -> Bool {
    var last = UInt8(ascii: "\n")
    for byte in text.utf8 {
      let begins = last == UInt8(ascii: "\n")
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...0xFF: break
      case UInt8(ascii: " "): if begins || last == byte { return false }
      case UInt8(ascii: "\n"): if last == UInt8(ascii: " ") { return false }
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): if begins { return false }
      case UInt8(ascii: "."), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "!"),
        UInt8(ascii: "?"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "/"),
        UInt8(ascii: "%"):
        if begins { return false }
      default: return false
      }
      last = byte
    }
    return last != UInt8(ascii: " ") && text.utf8.first != UInt8(ascii: "\n")
      && text.utf8.last != UInt8(ascii: "\n") && !text.contains("\n\n\n")
      // Other blanks may be taken for ends of words or lines.
      && !text.unicodeScalars.contains { !$0.isASCII && $0.properties.isWhitespace }
  }

  /// Pieces within the limit, cut at a line end if one is in the last half, else at a space, else between characters.
  package static func split(_ text: String, limit: Int, unit: LengthUnit) -> [FormatRender.Piece] {
    var pieces: [FormatRender.Piece] = []
    var rest = text[...]
    var consumed = 0
    while !rest.isEmpty {
      let piece = unit.isWithin(limit, rest) ? rest : head(of: rest, limit: limit, unit: unit)
      consumed += piece.utf8.count
      rest = rest[piece.endIndex...]
      if piece.contains(where: { !$0.isWhitespace }) {
        pieces.append(FormatRender.Piece(text: String(piece), consumed: consumed))
      } else if !pieces.isEmpty {
        pieces[pieces.count - 1].consumed = consumed
      }
    }
    return pieces
  }

  private static func head(of text: Substring, limit: Int, unit: LengthUnit) -> Substring {
    var length = 0
    var end = text.startIndex
    var lineEnd: Substring.Index?
    var space: Substring.Index?
    var index = text.startIndex
    while index < text.endIndex {
      let character = text[index]
      length += unit.count(String(character))
      let next = text.index(after: index)
      // A character that is longer than the limit must be cut, or nothing would ever be sent.
      if length > limit, end > text.startIndex { break }
      end = next
      if character.isNewline { lineEnd = next } else if character == " " { space = next }
      index = next
    }
    let middle = text.utf8.index(text.startIndex, offsetBy: text.utf8.distance(from: text.startIndex, to: end) / 2)
    for cut in [lineEnd, space] { if let cut, cut >= middle { return text[..<cut] } }
    return text[..<end]
  }
}
