internal import RelayWire

/// A message that may be a code: `/pair CODE`, `pair CODE`, `/start CODE`, or a code alone.
package struct PairingWords: Sendable, Equatable {
  /// The code as it was written.
  package let code: String
  /// The words ask for a pairing, whatever the code is. A code alone may also be a message.
  package let isExplicit: Bool

  /// `nil` for any other message.
  package init?(_ text: String) {
    // A code is short, and a message may be a megabyte.
    guard text.utf8.count <= Self.maximumLength else { return nil }
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    if words.count == 1, Self.isDigits(words[0]) {
      (code, isExplicit) = (words[0], false)
      return
    }
    guard words.count == 2, let verb = words.first?.lowercased() else { return nil }
    // Telegram's "/start@bot" addresses one of several bots.
    let name = verb.split(separator: "@").first.map(String.init) ?? verb
    switch name {
    case "/pair", "/start": break
    // Words of a conversation, unless digits follow.
    case "pair" where Self.isDigits(words[1]): break
    default: return nil
    }
    (code, isExplicit) = (words[1], true)
  }

  private static let maximumLength = 200

  /// `NNN-NNN` or `NNNNNN`.
  private static func isDigits(_ text: String) -> Bool {
    let plain = plain(text)
    return plain.utf8.count == 6 && plain.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Digits without the sign between them; any other code as it is.
  static func plain(_ text: String) -> String {
    let bytes = Array(text.utf8)
    let isDashed =
      bytes.count == 7 && bytes[3] == 0x2D
      && bytes.indices.allSatisfy { $0 == 3 || (0x30...0x39).contains(bytes[$0]) }
    return isDashed ? String(text.prefix(3) + text.suffix(3)) : text
  }
}
