internal import RelayJSON
internal import RelayWire

/// Copies of pi's events as it wrote them, for those who follow a session. Made while the events are read, a line for each.
package struct EventRecording: Sendable {
  /// Records the updates of growing messages as well: most of what pi writes, and repeated by the end of each message.
  package var includesUpdates = false
  private var lines: [UInt8] = []

  package init() {}

  /// - Parameter line: one whole JSON object.
  mutating func append(_ line: UnsafeRawBufferPointer) {
    lines.append(contentsOf: line)
    lines.append(UInt8(ascii: "\n"))
  }

  /// Records the part of an object that arrived before the rest of it was dropped.
  mutating func append(beginning: UnsafeRawBufferPointer) {
    guard let closed = Self.closed(beginning) else { return }
    lines += closed
    lines.append(UInt8(ascii: "\n"))
  }

  /// - Returns: the lines since the last call, each with its newline.
  mutating func take() -> [UInt8] {
    defer { lines = [] }
    return lines
  }

  /// Makes a whole object of the beginning of one: the members that are whole, and of a member that is cut, its own whole
  /// members.
  static func closed(_ beginning: UnsafeRawBufferPointer) -> [UInt8]? {
    guard var object = wholeMembers(of: beginning, maximumDepth: 2) else { return nil }
    object.append(UInt8(ascii: "}"))
    return object
  }

  /// - Returns: an object without its last brace; `nil` for text that begins no object.
  private static func wholeMembers(of beginning: UnsafeRawBufferPointer, maximumDepth: Int) -> [UInt8]? {
    var object = [UInt8(ascii: "{")]
    var cursor = JSONCursor(beginning)
    guard cursor.peek() == UInt8(ascii: "{") else { return nil }
    _ = cursor.members { key, cursor in
      let start = cursor.position
      let isWhole = cursor.skipValue() && cursor.position < beginning.count
      let value = UnsafeRawBufferPointer(rebasing: beginning[start..<cursor.position])
      var text = Array(value)
      if !isWhole {
        guard maximumDepth > 1, let inner = wholeMembers(of: value, maximumDepth: maximumDepth - 1) else {
          return false
        }
        text = inner + [UInt8(ascii: "}")]
      }
      if object.count > 1 { object.append(UInt8(ascii: ",")) }
      object.append(UInt8(ascii: "\""))
      object += key
      object += Array("\":".utf8)
      object += text
      return isWhole
    }
    return object
  }
}
