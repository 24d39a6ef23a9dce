package import RelayWire

/// Splits text without a formatter: what remains possible while the formatter is down.
package enum PlainText {
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
      // One character longer than the limit has to be cut all the same, or nothing would ever be sent.
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
