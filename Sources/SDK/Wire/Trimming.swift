extension StringProtocol {
  /// Without blanks and line breaks before and after.
  package func trimmingWhitespace() -> String {
    var text = self[...]
    while let first = text.first, first.isWhitespace { text = text.dropFirst() }
    while let last = text.last, last.isWhitespace { text = text.dropLast() }
    return String(text)
  }
}
