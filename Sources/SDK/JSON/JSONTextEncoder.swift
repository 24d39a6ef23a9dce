/// Writes `Encodable` values as JSON text at once, without a tree between them: Foundation's encoder takes several times
/// as long, and each change of a growing answer is encoded.
///
/// A nested container is written before anything else is added to its parent; other orders are refused with an error.
struct JSONTextEncoder: Encoder {
  fileprivate let writer: JSONWriter
  /// Containers that were open when this value's turn came.
  fileprivate let level: Int
  fileprivate let parents: [any CodingKey]
  fileprivate let key: (any CodingKey)?

  var codingPath: [any CodingKey] { key.map { parents + [$0] } ?? parents }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(
      KeyedWriter(writer: writer, container: writer.open(isObject: true, at: level), codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    UnkeyedWriter(writer: writer, container: writer.open(isObject: false, at: level), codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  /// Writes a value that already is JSON.
  func write(_ value: JSONValue) { writer.put { value.write(to: &$0) } }

  static func encode(_ value: some Encodable) throws -> [UInt8] {
    let writer = JSONWriter()
    try writer.put(value, parents: [], key: nil)
    guard !writer.isMisused else {
      throw EncodingError.invalidValue(
        value, .init(codingPath: [], debugDescription: "it adds to a container after adding to one around it"))
    }
    return writer.text
  }
}

/// The text written so far, and which containers of it are open.
private final class JSONWriter {
  struct Container {
    /// Tells it from others at the same level.
    let number: Int
    let isObject: Bool
    var isEmpty = true
  }

  // A value is encoded on one thread, and no access spans a call of the value's code, so exclusivity needs no check.
  @exclusivity(unchecked) private(set) var text: [UInt8] = []
  @exclusivity(unchecked) private(set) var isMisused = false
  @exclusivity(unchecked) private var containers: [Container] = []
  @exclusivity(unchecked) private var count = 0
  /// A value must come next.
  @exclusivity(unchecked) private var awaitsValue = true

  /// Opens a container as the next value, or returns the one that this value has opened before.
  func open(isObject: Bool, at level: Int) -> (level: Int, number: Int) {
    if containers.count > level {
      if containers[level].isObject != isObject { isMisused = true }
      return (level + 1, containers[level].number)
    }
    count += 1
    put { $0.append(UInt8(ascii: isObject ? "{" : "[")) }
    containers.append(Container(number: count, isObject: isObject))
    return (level + 1, count)
  }

  /// Closes what is open within a container, and begins its next member or item.
  func next(in container: (level: Int, number: Int), key: String? = nil) {
    guard containers.count >= container.level, containers[container.level - 1].number == container.number else {
      isMisused = true
      return
    }
    close(to: container.level)
    if !containers[container.level - 1].isEmpty { text.append(UInt8(ascii: ",")) }
    containers[container.level - 1].isEmpty = false
    if let key {
      JSONText.quote(key, into: &text)
      text.append(UInt8(ascii: ":"))
    }
    awaitsValue = true
  }

  private func close(to level: Int) {
    // A value that encodes nothing is an empty object.
    if awaitsValue { put { $0 += "{}".utf8 } }
    while containers.count > level, let container = containers.popLast() {
      text.append(UInt8(ascii: container.isObject ? "}" : "]"))
    }
  }

  func put(_ write: (inout [UInt8]) -> Void) {
    if !awaitsValue { isMisused = true }
    awaitsValue = false
    write(&text)
  }

  func put(_ value: some Encodable, parents: [any CodingKey], key: (any CodingKey)?) throws {
    let level = containers.count
    try value.encode(to: JSONTextEncoder(writer: self, level: level, parents: parents, key: key))
    close(to: level)
  }

  func put(_ text: String) { put { JSONText.quote(text, into: &$0) } }
  func put(_ flag: Bool) { put { $0 += (flag ? "true" : "false").utf8 } }
  func put(_ integer: some FixedWidthInteger) { put { $0 += "\(integer)".utf8 } }
  func putNull() { put { $0 += "null".utf8 } }

  func put<Number: BinaryFloatingPoint>(_ number: Number, at path: @autoclosure () -> [any CodingKey]) throws {
    guard number.isFinite else {
      throw EncodingError.invalidValue(number, .init(codingPath: path(), debugDescription: "JSON has no \(number)"))
    }
    let digits = "\(number)"
    put { $0 += (digits.hasSuffix(".0") ? digits.dropLast(2) : digits[...]).utf8 }
  }
}

private struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let writer: JSONWriter
  let container: (level: Int, number: Int)
  let codingPath: [any CodingKey]

  private func member(_ key: any CodingKey) -> JSONWriter {
    writer.next(in: container, key: key.stringValue)
    return writer
  }

  private func encoder(_ key: any CodingKey) -> JSONTextEncoder {
    JSONTextEncoder(writer: member(key), level: container.level, parents: codingPath, key: key)
  }

  func encodeNil(forKey key: Key) { member(key).putNull() }
  func encode(_ value: Bool, forKey key: Key) { member(key).put(value) }
  func encode(_ value: String, forKey key: Key) { member(key).put(value) }
  func encode(_ value: Double, forKey key: Key) throws { try member(key).put(value, at: codingPath + [key]) }
  func encode(_ value: Float, forKey key: Key) throws { try member(key).put(value, at: codingPath + [key]) }
  func encode(_ value: Int, forKey key: Key) { member(key).put(value) }
  func encode(_ value: Int8, forKey key: Key) { member(key).put(value) }
  func encode(_ value: Int16, forKey key: Key) { member(key).put(value) }
  func encode(_ value: Int32, forKey key: Key) { member(key).put(value) }
  func encode(_ value: Int64, forKey key: Key) { member(key).put(value) }
  func encode(_ value: UInt, forKey key: Key) { member(key).put(value) }
  func encode(_ value: UInt8, forKey key: Key) { member(key).put(value) }
  func encode(_ value: UInt16, forKey key: Key) { member(key).put(value) }
  func encode(_ value: UInt32, forKey key: Key) { member(key).put(value) }
  func encode(_ value: UInt64, forKey key: Key) { member(key).put(value) }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    try member(key).put(value, parents: codingPath, key: key)
  }

  func nestedContainer<NestedKey>(keyedBy type: NestedKey.Type, forKey key: Key) -> KeyedEncodingContainer<NestedKey> {
    encoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder(JSONKey("super")) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
}

private struct UnkeyedWriter: UnkeyedEncodingContainer {
  let writer: JSONWriter
  let container: (level: Int, number: Int)
  let codingPath: [any CodingKey]
  private(set) var count = 0

  private mutating func item() -> JSONWriter {
    writer.next(in: container)
    count += 1
    return writer
  }

  private mutating func encoder() -> JSONTextEncoder {
    let key = JSONKey(count)
    return JSONTextEncoder(writer: item(), level: container.level, parents: codingPath, key: key)
  }

  mutating func encodeNil() { item().putNull() }
  mutating func encode(_ value: Bool) { item().put(value) }
  mutating func encode(_ value: String) { item().put(value) }
  mutating func encode(_ value: Double) throws { try item().put(value, at: codingPath + [JSONKey(count - 1)]) }
  mutating func encode(_ value: Float) throws { try item().put(value, at: codingPath + [JSONKey(count - 1)]) }
  mutating func encode(_ value: Int) { item().put(value) }
  mutating func encode(_ value: Int8) { item().put(value) }
  mutating func encode(_ value: Int16) { item().put(value) }
  mutating func encode(_ value: Int32) { item().put(value) }
  mutating func encode(_ value: Int64) { item().put(value) }
  mutating func encode(_ value: UInt) { item().put(value) }
  mutating func encode(_ value: UInt8) { item().put(value) }
  mutating func encode(_ value: UInt16) { item().put(value) }
  mutating func encode(_ value: UInt32) { item().put(value) }
  mutating func encode(_ value: UInt64) { item().put(value) }

  mutating func encode(_ value: some Encodable) throws {
    let key = JSONKey(count)
    try item().put(value, parents: codingPath, key: key)
  }

  mutating func nestedContainer<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    encoder().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { encoder() }
}

extension JSONTextEncoder: SingleValueEncodingContainer {
  func encodeNil() { writer.putNull() }
  func encode(_ value: Bool) { writer.put(value) }
  func encode(_ value: String) { writer.put(value) }
  func encode(_ value: Double) throws { try writer.put(value, at: codingPath) }
  func encode(_ value: Float) throws { try writer.put(value, at: codingPath) }
  func encode(_ value: Int) { writer.put(value) }
  func encode(_ value: Int8) { writer.put(value) }
  func encode(_ value: Int16) { writer.put(value) }
  func encode(_ value: Int32) { writer.put(value) }
  func encode(_ value: Int64) { writer.put(value) }
  func encode(_ value: UInt) { writer.put(value) }
  func encode(_ value: UInt8) { writer.put(value) }
  func encode(_ value: UInt16) { writer.put(value) }
  func encode(_ value: UInt32) { writer.put(value) }
  func encode(_ value: UInt64) { writer.put(value) }
  func encode(_ value: some Encodable) throws { try writer.put(value, parents: parents, key: key) }
}

/// A member's name or an item's place, where no type of the caller names it.
struct JSONKey: CodingKey {
  private let name: String
  let intValue: Int?

  /// Made when it is asked for: each item of a list has a key, and few are shown.
  var stringValue: String { intValue.map { "\($0)" } ?? name }

  init(_ name: String) { (self.name, intValue) = (name, nil) }
  init(_ index: Int) { (name, intValue) = ("", index) }
  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { self.init(intValue) }
}
