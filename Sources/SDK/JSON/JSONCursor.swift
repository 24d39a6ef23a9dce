#if canImport(Glibc)
  import Glibc
#endif

/// Walks JSON text byte by byte without building anything: for reading a few fields out of a line whose rest is of no
/// interest. It never reads outside its bytes; on text that is not JSON it says so or skips too little, never crashes.
public struct JSONCursor {
  /// The text. The caller keeps it valid while the cursor is used.
  public let bytes: UnsafeRawBufferPointer
  /// The offset of the next byte in `bytes`.
  public var position: Int

  public init(_ bytes: UnsafeRawBufferPointer, at position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  /// The byte at the position after white space, or nil at the end.
  public mutating func peek() -> UInt8? {
    while position < bytes.count {
      let byte = bytes[position]
      if byte != 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D { return byte }
      position += 1
    }
    return nil
  }

  /// Steps over `byte` if it comes next.
  public mutating func take(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    position += 1
    return true
  }

  /// Steps over a string; answers its contents' range, still escaped, and whether it holds a backslash.
  public mutating func string() -> (range: Range<Int>, escaped: Bool)? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    let start = position
    var escaped = false
    while position < bytes.count {
      guard let base = bytes.baseAddress,
        let quote = memchr(base + position, 0x22, bytes.count - position)
      else { break }
      let index = UnsafeRawPointer(quote) - base
      var backslashes = 0
      while index - 1 - backslashes >= start, bytes[index - 1 - backslashes] == 0x5C { backslashes += 1 }
      position = index + 1
      if backslashes % 2 == 0 {
        if !escaped { escaped = index > start && memchr(base + start, 0x5C, index - start) != nil }
        return (start..<index, escaped)
      }
      escaped = true
    }
    position = bytes.count
    return nil
  }

  /// Steps over one value of any kind. False when there is none or it does not end.
  public mutating func skipValue() -> Bool {
    guard let first = peek() else { return false }
    switch first {
    case UInt8(ascii: "\""): return string() != nil
    case UInt8(ascii: "{"), UInt8(ascii: "["): return skipContainer()
    default:
      let start = position
      while position < bytes.count, !Self.endsScalar(bytes[position]) { position += 1 }
      return position > start
    }
  }

  private mutating func skipContainer() -> Bool {
    var depth = 0
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        if string() == nil { return false }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      position += 1
      if depth == 0 { return true }
    }
    return false
  }

  private static func endsScalar(_ byte: UInt8) -> Bool {
    byte == 0x2C || byte == 0x7D || byte == 0x5D || byte <= 0x20
  }

  /// Walks the members of the object that comes next. `visit` gets each key with the cursor at its value; it
  /// may consume the value or leave it, and ends the walk with `false`. Returns false if this is not a whole object.
  public mutating func members(_ visit: (_ key: UnsafeRawBufferPointer, inout JSONCursor) -> Bool) -> Bool {
    guard take(UInt8(ascii: "{")) else { return false }
    if take(UInt8(ascii: "}")) { return true }
    while true {
      guard let key = string(), take(UInt8(ascii: ":")), peek() != nil else { return false }
      let before = position
      if !visit(UnsafeRawBufferPointer(rebasing: bytes[key.range]), &self) { return true }
      if position == before, !skipValue() { return false }
      if take(UInt8(ascii: ",")) { continue }
      return take(UInt8(ascii: "}"))
    }
  }

  /// The string that comes next, unescaped; nil when something else does.
  public mutating func text() -> String? {
    guard let (range, escaped) = string() else { return nil }
    let raw = UnsafeRawBufferPointer(rebasing: bytes[range])
    if !escaped { return String(decoding: raw, as: UTF8.self) }
    var out: [UInt8] = []
    JSONText.unescape(raw, into: &out)
    return String(decoding: out, as: UTF8.self)
  }

  /// The same, and nil where it holds what no JSON string may: a control character, an unknown escape, or no UTF-8.
  public mutating func validText() -> String? {
    guard let (range, escaped) = string() else { return nil }
    let raw = UnsafeRawBufferPointer(rebasing: bytes[range])
    guard !JSONText.hasControlCharacters(raw) else { return nil }
    if !escaped { return String(validating: raw, as: UTF8.self) }
    guard JSONText.hasValidEscapes(raw) else { return nil }
    var out: [UInt8] = []
    JSONText.unescape(raw, into: &out)
    return String(validating: out, as: UTF8.self)
  }
}

extension UnsafeRawBufferPointer {
  /// Reports whether these bytes are exactly the ASCII text given.
  public func equals(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount
      && (count == 0 || memcmp(baseAddress!, text.utf8Start, count) == 0)
  }

  /// Reports whether these bytes begin with the ASCII text given.
  public func starts(with text: StaticString) -> Bool {
    count >= text.utf8CodeUnitCount && memcmp(baseAddress!, text.utf8Start, text.utf8CodeUnitCount) == 0
  }
}
