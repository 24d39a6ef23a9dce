internal import RelayJSON
internal import RelayWire

/// A long value as clients see it by default: its size and its beginning.
struct MeasuredText {
  /// Bytes of the whole in UTF-8.
  let bytes: Int
  /// UTF-16 units of the whole, JavaScript's measure.
  let length: Int
  /// The beginning, cut between characters.
  let preview: String
  let isCut: Bool

  /// - Parameter value: JSON as written; a string is measured without quotes and escapes.
  init(_ value: UnsafeRawBufferPointer, previewBytes: Int) {
    var cursor = JSONCursor(value)
    self.init(cursor.text() ?? String(decoding: value, as: UTF8.self), previewBytes: previewBytes)
  }

  init(_ text: String, previewBytes: Int) {
    bytes = text.utf8.count
    length = text.utf16.count
    isCut = bytes > previewBytes
    preview = isCut ? Self.beginning(of: text, bytes: previewBytes) : text
  }

  /// Cuts between scalars: a half of one would be no text.
  private static func beginning(of text: String, bytes: Int) -> String {
    let utf8 = text.utf8
    var end = utf8.index(utf8.startIndex, offsetBy: max(0, bytes), limitedBy: utf8.endIndex) ?? utf8.endIndex
    while end > utf8.startIndex, end.samePosition(in: text.unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(text[..<end])
  }
}
