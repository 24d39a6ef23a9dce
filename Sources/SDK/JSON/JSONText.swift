/// Escapes and unescapes JSON strings as bytes.
public enum JSONText {
  /// Appends the UTF-8 text of an escaped JSON string. A lone surrogate becomes U+FFFD: pi may send half of an emoji.
  public static func unescape(_ raw: UnsafeRawBufferPointer, into out: inout [UInt8]) {
    out.reserveCapacity(out.count + raw.count)
    var index = 0
    while index < raw.count {
      let byte = raw[index]
      guard byte == 0x5C, index + 1 < raw.count else {
        out.append(byte)
        index += 1
        continue
      }
      let kind = raw[index + 1]
      index += 2
      switch kind {
      case UInt8(ascii: "n"): out.append(0x0A)
      case UInt8(ascii: "t"): out.append(0x09)
      case UInt8(ascii: "r"): out.append(0x0D)
      case UInt8(ascii: "b"): out.append(0x08)
      case UInt8(ascii: "f"): out.append(0x0C)
      case UInt8(ascii: "u"): unescapeUnit(raw, &index, into: &out)
      default: out.append(kind)
      }
    }
  }

  /// Reports whether each backslash is followed by characters that RFC 8259 §7 lets follow it.
  static func hasValidEscapes(_ raw: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < raw.count {
      guard raw[index] == 0x5C else {
        index += 1
        continue
      }
      guard index + 1 < raw.count else { return false }
      switch raw[index + 1] {
      case 0x22, 0x5C, 0x2F, UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"),
        UInt8(ascii: "t"):
        index += 2
      case UInt8(ascii: "u"):
        guard hexUnit(raw, index + 2) != nil else { return false }
        index += 6
      default: return false
      }
    }
    return true
  }

  /// Appends text as a JSON string, quotes included.
  public static func quote(_ text: String, into out: inout [UInt8]) {
    var text = text
    out.append(UInt8(ascii: "\""))
    text.withUTF8 { bytes in
      var start = 0
      var index = 0
      while true {
        index = firstToEscape(in: UnsafeRawBufferPointer(bytes), from: index)
        guard index < bytes.count else { break }
        // Not as slices of a buffer, which are copied byte by byte.
        out += UnsafeBufferPointer(rebasing: bytes[start..<index])
        escape(bytes[index], into: &out)
        index += 1
        start = index
      }
      out += UnsafeBufferPointer(rebasing: bytes[start...])
    }
    out.append(UInt8(ascii: "\""))
  }

  /// Eight bytes at a time: an answer is quoted again for each edit that shows more of it.
  private static func firstToEscape(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while index + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      // The highest bit of each byte that is below 0x20, a quote or a backslash (and perhaps of its neighbours).
      let found = below(0x20, word) | below(1, word ^ every(0x22)) | below(1, word ^ every(0x5C))
      if found != 0 { break }
      index += 8
    }
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x20 || byte == 0x22 || byte == 0x5C { return index }
      index += 1
    }
    return index
  }

  static func hasControlCharacters(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      // A neighbour may be found as well, but only beside one that is.
      if below(0x20, word) != 0 { return true }
      index += 8
    }
    return bytes[index...].contains { $0 < 0x20 }
  }

  private static func every(_ byte: UInt64) -> UInt64 { byte &* 0x0101_0101_0101_0101 }

  private static func below(_ limit: UInt64, _ word: UInt64) -> UInt64 {
    (word &- every(limit)) & ~word & every(0x80)
  }

  private static func escape(_ byte: UInt8, into out: inout [UInt8]) {
    switch byte {
    case 0x0A: out += "\\n".utf8
    case 0x09: out += "\\t".utf8
    case 0x0D: out += "\\r".utf8
    case 0x00..<0x20: out += "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8
    default: out += [UInt8(ascii: "\\"), byte]
    }
  }

  /// Reads `XXXX` (after `\u`) at the index, joining a surrogate pair.
  private static func unescapeUnit(_ raw: UnsafeRawBufferPointer, _ index: inout Int, into out: inout [UInt8]) {
    guard let unit = hexUnit(raw, index) else { return append(0xFFFD, to: &out) }
    index += 4
    guard (0xD800..<0xE000).contains(unit) else { return append(UInt32(unit), to: &out) }
    if unit < 0xDC00, index + 6 <= raw.count, raw[index] == 0x5C, raw[index + 1] == UInt8(ascii: "u"),
      let low = hexUnit(raw, index + 2), (0xDC00..<0xE000).contains(low)
    {
      index += 6
      append(0x10000 + ((UInt32(unit) - 0xD800) << 10) + (UInt32(low) - 0xDC00), to: &out)
    } else {
      append(0xFFFD, to: &out)
    }
  }

  /// The four hexadecimal digits at `index`, or nil.
  public static func hexUnit(_ raw: UnsafeRawBufferPointer, _ index: Int) -> UInt16? {
    guard index + 4 <= raw.count else { return nil }
    var value: UInt16 = 0
    for offset in 0..<4 {
      let byte = raw[index + offset]
      let digit: UInt8
      switch byte {
      case 0x30...0x39: digit = byte - 0x30
      case 0x41...0x46: digit = byte - 0x41 + 10
      case 0x61...0x66: digit = byte - 0x61 + 10
      default: return nil
      }
      value = value << 4 | UInt16(digit)
    }
    return value
  }

  private static func append(_ scalar: UInt32, to out: inout [UInt8]) {
    let character = Unicode.Scalar(scalar) ?? "\u{FFFD}"
    out.append(contentsOf: UTF8.encode(character) ?? UTF8.encodedReplacementCharacter)
  }
}
