internal import RelayModel

/// The codes of one pairing, in the clear: digits for a person to type, and a longer one for a link. They are shown once, and only
/// their digests are kept.
package struct PairingCode: Sendable, Equatable {
  /// Six digits, as `NNN-NNN`.
  package let digits: String
  /// 32 random bytes in base64url, without padding.
  package let token: String

  package init(using generator: inout some RandomNumberGenerator) {
    let number = String(Int.random(in: 0..<1_000_000, using: &generator))
    let padded = String(repeating: "0", count: 6 - number.count) + number
    digits = "\(padded.prefix(3))-\(padded.suffix(3))"
    token = Self.base64URL((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }

  /// The digests by which the codes are recognised.
  var digests: [[UInt8]] { [digits, token].map { Self.digest(of: $0) } }

  /// - Parameter text: a code as a person may write it: digits with or without the sign between them.
  static func digest(of text: String) -> [UInt8] { SHA256.digest(of: Array(PairingWords.plain(text).utf8)) }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

  private static func base64URL(_ bytes: [UInt8]) -> String {
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for index in 0...group.count { text.append(alphabet[bits >> (18 - 6 * index) & 63]) }
    }
    return text
  }
}

/// Compares in a time that does not depend on where the two differ.
func isEqualInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  guard one.count == other.count else { return false }
  return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}
