internal import Glibc
internal import RelayJSON
internal import RelayWire

/// A line of pi's output, divided into pi's own objects and the text around them.
///
/// pi writes one object a line. An extension or one of its children may write a terminal sequence or other text to the
/// same descriptor without a newline, and a killed process may leave half an object.
struct PiLine {
  enum Part: Equatable {
    case object(Range<Int>)
    case noise(Range<Int>)
  }

  // The first member of every object that pi writes. Neither can stand inside a JSON string, where quotes are escaped.
  private static let beginnings: [StaticString] = [#"{"type":""#, #"{"id":"#]
  /// In bytes; less than this may be the cut beginning of an object.
  static let maximumBeginning = 9
  /// The maximum number of searches through a line that begin at an object and find no end; after that the rest of the
  /// line is noise.
  private static let maximumWalks = 8

  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  /// The offset of the first byte that may begin an object; nil where there is none.
  var firstObject: Int? {
    bytes.first == UInt8(ascii: "{") ? 0 : beginning(from: 0)
  }

  /// Indicates that the line is one whole object and nothing else.
  var isOneObject: Bool {
    var cursor = JSONCursor(bytes)
    return cursor.skipValue() && cursor.position == bytes.count
  }

  var parts: [Part] {
    var parts: [Part] = []
    var noise = 0
    var walked = 0
    var next = firstObject
    while let start = next, walked <= Self.maximumWalks * bytes.count {
      var cursor = JSONCursor(bytes, at: start)
      if cursor.members({ _, _ in true }) {
        let end = cursor.position
        addNoise(noise..<start, to: &parts)
        parts.append(.object(start..<end))
        noise = end
        next = beginning(from: end)
      } else {
        walked += cursor.position - start
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

  /// The offset of the next beginning of an object of pi's, from this offset on.
  func beginning(from offset: Int) -> Int? {
    guard let base = bytes.baseAddress else { return nil }
    var offset = offset
    while offset < bytes.count, let found = memchr(base + offset, 0x7B, bytes.count - offset) {
      let place = UnsafeRawPointer(found) - base
      if Self.beginnings.contains(where: { begins(with: $0, at: place) }) { return place }
      offset = place + 1
    }
    return nil
  }

  private func begins(with text: StaticString, at place: Int) -> Bool {
    let count = text.utf8CodeUnitCount
    guard let base = bytes.baseAddress, place + count <= bytes.count else { return false }
    return memcmp(base + place, text.utf8Start, count) == 0
  }
}
