internal import CMarkdown
internal import Glibc

/// How many columns a text takes in a fixed-width font.
enum DisplayWidth {
  /// glibc knows widths only in a UTF-8 locale.
  private static let locale: Void = { _ = setlocale(LC_CTYPE, "C.UTF-8") }()

  static func of(_ text: some StringProtocol) -> Int {
    text.reduce(0) { $0 + of($1) }
  }

  static func of(_ character: Character) -> Int {
    _ = locale
    if let ascii = character.asciiValue { return ascii < 0x20 ? 0 : 1 }
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    // An emoji is two columns wide however many scalars it is made of.
    if scalars.contains(where: { $0 == "\u{FE0F}" || $0.properties.isEmojiPresentation }) { return 2 }
    return max(0, Int(wcwidth(wchar_t(first.value))))
  }
}
