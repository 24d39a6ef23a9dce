internal import RelayJSON

/// The text of a message as its deltas arrive. Joins an emoji that pi split over two deltas as halves of a pair.
package struct DeltaText: Sendable {
  package private(set) var bytes: [UInt8] = []
  /// An escaped high surrogate that ended the last delta, still waiting for its other half.
  private var held: [UInt8] = []

  package init() {}

  /// Nothing is waiting, to be taken or for its other half.
  var isWhole: Bool { bytes.isEmpty && held.isEmpty }

  /// Appends one delta, escaped as in the JSON.
  package mutating func append(_ raw: UnsafeRawBufferPointer, escaped: Bool) {
    if held.isEmpty, !escaped {
      bytes.append(contentsOf: raw)
      return
    }
    let joined = held + raw
    held = []
    joined.withUnsafeBytes { joined in
      var count = joined.count
      if Self.endsInHighSurrogate(joined) {
        count -= 6
        held = Array(joined[count...])
      }
      JSONText.unescape(UnsafeRawBufferPointer(rebasing: joined[..<count]), into: &bytes)
    }
  }

  /// Takes what has arrived, leaving nothing; nil when nothing has.
  package mutating func take() -> String? {
    guard !bytes.isEmpty else { return nil }
    // The room is kept for the next delta.
    defer { bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let keptCapacity = 64 * 1024

  private static func endsInHighSurrogate(_ raw: UnsafeRawBufferPointer) -> Bool {
    let start = raw.count - 6
    guard start >= 0, raw[start] == 0x5C, raw[start + 1] == UInt8(ascii: "u"),
      let unit = JSONText.hexUnit(raw, start + 2), (0xD800..<0xDC00).contains(unit)
    else { return false }
    // "\\ud83d" with an escaped backslash before it is six plain characters.
    var backslashes = 0
    while start - 1 - backslashes >= 0, raw[start - 1 - backslashes] == 0x5C { backslashes += 1 }
    return backslashes % 2 == 0
  }
}
