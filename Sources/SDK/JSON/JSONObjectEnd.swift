#if canImport(Glibc)
  import Glibc
#endif

/// Finds the end of a JSON object that arrives in pieces, of which nothing is kept. A cut object has no end.
struct JSONObjectEnd {
  private var depth = 0
  private var isInString = false
  /// The last piece ended with a backslash that escapes the next byte.
  private var isEscaped = false

  /// - Parameter piece: the next bytes; the first piece begins with the object.
  /// - Returns: the offset behind the object; `nil` where the object continues.
  mutating func find(in piece: UnsafeRawBufferPointer) -> Int? {
    var position = 0
    while position < piece.count {
      if isInString {
        position = skipString(in: piece, from: position)
        continue
      }
      switch piece[position] {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      position += 1
      if depth == 0 { return position }
    }
    return nil
  }

  /// - Returns: the offset behind the string's end, or that of the piece.
  private mutating func skipString(in piece: UnsafeRawBufferPointer, from start: Int) -> Int {
    var start = start
    if isEscaped {
      isEscaped = false
      start += 1
    }
    while start < piece.count, let base = piece.baseAddress {
      let quote = memchr(base + start, 0x22, piece.count - start).map { UnsafeRawPointer($0) - base }
      let end = quote ?? piece.count
      var backslashes = 0
      while end - backslashes > start, piece[end - backslashes - 1] == 0x5C { backslashes += 1 }
      let isOdd = backslashes % 2 == 1
      guard quote != nil else {
        isEscaped = isOdd
        return end
      }
      start = end + 1
      if !isOdd {
        isInString = false
        return start
      }
    }
    return piece.count
  }
}
