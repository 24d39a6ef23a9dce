internal import CLinux
internal import RelayWire

/// One line of pi's output, taken apart into pi's own objects and the text around them.
///
/// pi writes one object a line, but not alone: an extension or one of its children may write a terminal sequence or other
/// text to the same descriptor without a newline, and a process that is killed may leave half an object behind.
struct PiLine {
  enum Part: Equatable {
    case object(Range<Int>)
    case noise(Range<Int>)
  }

  // The first member of every object that pi writes. Neither can stand inside a JSON string, where quotes are escaped.
  private static let beginnings: [StaticString] = [#"{"type":""#, #"{"id":"#]
  /// Beginnings that turn out to be no whole object before the rest of a line is taken for noise: each may cost a look at
  /// the whole line.
  private static let maximumAttempts = 8

  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  /// The offset of the first byte that may begin an object; nil where there is none.
  var firstObject: Int? {
    bytes.first == UInt8(ascii: "{") ? 0 : beginning(from: 0)
  }

  /// Whether another object begins at or after this offset.
  func hasObject(from offset: Int) -> Bool { beginning(from: offset) != nil }

  var parts: [Part] {
    var parts: [Part] = []
    var noise = 0
    var attempts = 0
    var next = firstObject
    while let start = next, attempts < Self.maximumAttempts {
      if let end = endOfObject(at: start) {
        addNoise(noise..<start, to: &parts)
        parts.append(.object(start..<end))
        noise = end
        next = beginning(from: end)
      } else {
        attempts += 1
        next = beginning(from: start + 1)
      }
    }
    addNoise(noise..<bytes.count, to: &parts)
    return parts
  }

  private func addNoise(_ range: Range<Int>, to parts: inout [Part]) {
    guard bytes[range].contains(where: { $0 > 0x20 }) else { return }
    parts.append(.noise(range))
  }

  private func endOfObject(at start: Int) -> Int? {
    var cursor = JSONCursor(bytes, at: start)
    return cursor.members { _, _ in true } ? cursor.position : nil
  }

  private func beginning(from offset: Int) -> Int? {
    guard offset < bytes.count, let base = bytes.baseAddress else { return nil }
    return Self.beginnings.compactMap { text in
      relay_find(base + offset, bytes.count - offset, text.utf8Start, text.utf8CodeUnitCount).map { $0 - base }
    }.min()
  }
}
