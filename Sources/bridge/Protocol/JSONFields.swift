package import RelayJSON
internal import RelayWire

/// The members of one JSON object, found without decoding their values.
package struct JSONFields {
  private let bytes: UnsafeRawBufferPointer
  private var members: [(key: Range<Int>, value: Range<Int>)] = []

  /// - Parameter bytes: one JSON object; the caller keeps it valid while the value is used.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    guard let base = bytes.baseAddress else { return nil }
    var found: [(Range<Int>, Range<Int>)] = []
    found.reserveCapacity(8)
    var cursor = JSONCursor(bytes)
    var isWhole = true
    let isObject = cursor.members { key, cursor in
      let start = cursor.position
      isWhole = cursor.skipValue()
      guard isWhole else { return false }
      let offset = key.baseAddress.map { $0 - base } ?? 0
      found.append((offset..<offset + key.count, start..<cursor.position))
      return true
    }
    guard isObject, isWhole else { return nil }
    members = found
  }

  /// The text of a member's value, as written; `nil` where there is no such member, and for `null`.
  package subscript(key: StaticString) -> UnsafeRawBufferPointer? {
    for member in members where UnsafeRawBufferPointer(rebasing: bytes[member.key]).equals(key) {
      let value = UnsafeRawBufferPointer(rebasing: bytes[member.value])
      return value.equals("null") ? nil : value
    }
    return nil
  }

  /// The first of these members that exists.
  package func first(_ keys: StaticString...) -> UnsafeRawBufferPointer? {
    for key in keys { if let value = self[key] { return value } }
    return nil
  }

  /// The members of a member that is an object.
  package func object(_ key: StaticString) -> JSONFields? { self[key].flatMap { JSONFields($0) } }

  /// The value of a member that is a string.
  package func text(_ key: StaticString) -> String? {
    guard let value = self[key] else { return nil }
    var cursor = JSONCursor(value)
    return cursor.text()
  }

  /// The texts of a member's items, as written, where the member is an array.
  package func items(_ key: StaticString) -> [UnsafeRawBufferPointer]? { self[key].flatMap { Self.items(of: $0) } }

  private static func items(of array: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer]? {
    var cursor = JSONCursor(array)
    guard cursor.take(UInt8(ascii: "[")) else { return nil }
    var items: [UnsafeRawBufferPointer] = []
    if cursor.take(UInt8(ascii: "]")) { return items }
    repeat {
      guard cursor.peek() != nil else { return nil }
      let start = cursor.position
      guard cursor.skipValue() else { return nil }
      items.append(UnsafeRawBufferPointer(rebasing: array[start..<cursor.position]))
    } while cursor.take(UInt8(ascii: ","))
    return cursor.take(UInt8(ascii: "]")) ? items : nil
  }
}

/// Writes one JSON object member by member, in the order of the calls.
package struct JSONObjectText {
  private var bytes: [UInt8] = [UInt8(ascii: "{")]
  private var isEmpty = true

  package init() {}

  /// The object with its closing brace.
  package var closed: [UInt8] { bytes + [UInt8(ascii: "}")] }

  /// Appends an object to bytes without making a copy of it: for what is written for every event.
  package static func append(to bytes: inout [UInt8], _ write: (inout Self) -> Void) {
    var object = Self()
    swap(&object.bytes, &bytes)
    object.bytes.append(UInt8(ascii: "{"))
    write(&object)
    object.bytes.append(UInt8(ascii: "}"))
    swap(&object.bytes, &bytes)
  }

  package mutating func add(_ key: String, json value: some Collection<UInt8>) {
    begin(key)
    bytes += value
  }

  package mutating func add(_ key: String, json value: UnsafeRawBufferPointer) {
    begin(key)
    bytes += value
  }

  package mutating func add(_ key: String, _ text: String) {
    begin(key)
    JSONText.quote(text, into: &bytes)
  }

  package mutating func add(_ key: String, _ number: Int) {
    begin(key)
    bytes += "\(number)".utf8
  }

  package mutating func add(_ key: String, _ flag: Bool) {
    begin(key)
    bytes += "\(flag)".utf8
  }

  package mutating func add(_ key: String, _ value: JSONValue) {
    begin(key)
    value.write(to: &bytes, sorted: false)
  }

  private mutating func begin(_ key: String) {
    if !isEmpty { bytes.append(UInt8(ascii: ",")) }
    isEmpty = false
    JSONText.quote(key, into: &bytes)
    bytes.append(UInt8(ascii: ":"))
  }
}
