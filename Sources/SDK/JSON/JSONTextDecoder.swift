/// Reads `Decodable` types directly from their text: nothing is copied or built except the members that the type reads,
/// so that a few members of a long line cost little more than finding them.
struct JSONTextDecoder: Decoder {
  /// The whole text, which is known to be JSON and outlives every decoder of it.
  fileprivate let text: UnsafeRawBufferPointer
  /// The first byte of the value.
  fileprivate let start: Int
  fileprivate let parents: [any CodingKey]
  fileprivate let key: (any CodingKey)?

  var codingPath: [any CodingKey] { key.map { parents + [$0] } ?? parents }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(try KeyedReader(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try UnkeyedReader(self) }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  static func decode<Value: Decodable>(_ type: Value.Type, from text: UnsafeRawBufferPointer) throws -> Value {
    do {
      try JSONValue.check(text)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "\(error)", underlyingError: error))
    }
    return try Value(from: JSONTextDecoder(text: text, start: 0, parents: [], key: nil))
  }
}

extension JSONTextDecoder {
  fileprivate var cursor: JSONCursor { JSONCursor(text, at: start) }

  private var first: UInt8? {
    var cursor = cursor
    return cursor.peek()
  }

  fileprivate var isNull: Bool { first == UInt8(ascii: "n") }

  /// The value of any kind.
  func value() throws -> JSONValue {
    var cursor = cursor
    do {
      return try JSONValue.read(&cursor)
    } catch {
      throw corrupted("\(error)")
    }
  }

  fileprivate func string() throws -> String {
    var cursor = cursor
    guard cursor.peek() == UInt8(ascii: "\"") else { throw mismatch(String.self) }
    guard let text = cursor.validText() else { throw corrupted("not a text in UTF-8 with JSON's escapes") }
    return text
  }

  fileprivate func flag() throws -> Bool {
    switch first {
    case UInt8(ascii: "t"): true
    case UInt8(ascii: "f"): false
    default: throw mismatch(Bool.self)
    }
  }

  private func digits(of type: Any.Type) throws -> String {
    var cursor = cursor
    guard let first = cursor.peek(), first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
      throw mismatch(type)
    }
    let start = cursor.position
    _ = cursor.skipValue()
    return String(decoding: text[start..<cursor.position], as: UTF8.self)
  }

  fileprivate func integer<Integer: FixedWidthInteger>() throws -> Integer {
    let digits = try digits(of: Integer.self)
    if let integer = Integer(digits) ?? Double(digits).flatMap(Integer.init(exactly:)) { return integer }
    throw outOfRange(digits, Integer.self)
  }

  fileprivate func number<Number: BinaryFloatingPoint & LosslessStringConvertible>() throws -> Number {
    let digits = try digits(of: Double.self)
    if let number = Number(digits), number.isFinite { return number }
    throw outOfRange(digits, Number.self)
  }

  fileprivate func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: "expected \(type)")
    return isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  /// Digits without end would come back in errors and logs.
  private func outOfRange(_ digits: String, _ type: Any.Type) -> DecodingError {
    corrupted("\(digits.utf8.count > 40 ? digits.prefix(39) + "…" : digits[...]) is not within \(type)")
  }

  private func corrupted(_ problem: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: problem))
  }
}

private struct KeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let codingPath: [any CodingKey]
  private let text: UnsafeRawBufferPointer
  /// Each name, and where its value begins; of two with the same name the last counts.
  private let members: [(name: String, start: Int)]
  /// The same where there are too many to look through.
  private let index: [String: Int]?

  /// Members of a dictionary rather than of a type.
  private static var many: Int { 32 }

  init(_ decoder: JSONTextDecoder) throws {
    var members: [(name: String, start: Int)] = []
    members.reserveCapacity(8)
    var cursor = decoder.cursor
    let isObject = cursor.members { name, cursor in
      members.append((Self.text(name), cursor.position))
      return true
    }
    guard isObject else { throw decoder.mismatch([String: JSONValue].self) }
    codingPath = decoder.codingPath
    text = decoder.text
    self.members = members
    index =
      members.count < Self.many
      ? nil : Dictionary(members.map { ($0.name, $0.start) }, uniquingKeysWith: { _, last in last })
  }

  private static func text(_ name: UnsafeRawBufferPointer) -> String {
    guard name.contains(0x5C) else { return String(decoding: name, as: UTF8.self) }
    var bytes: [UInt8] = []
    JSONText.unescape(name, into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func start(_ name: String) -> Int? {
    if let index { return index[name] }
    return members.last { $0.name == name }?.start
  }

  private func member(_ key: any CodingKey) throws -> JSONTextDecoder {
    if let start = start(key.stringValue) {
      return JSONTextDecoder(text: text, start: start, parents: codingPath, key: key)
    }
    throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no such member"))
  }

  var allKeys: [Key] { Set(members.map(\.name)).compactMap(Key.init(stringValue:)) }
  func contains(_ key: Key) -> Bool { start(key.stringValue) != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try member(key).isNull }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).flag() }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key).string() }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).number() }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).number() }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(key).integer() }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(key).integer() }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(key).integer() }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(key).integer() }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(key).integer() }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(key).integer() }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(key).integer() }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(key).integer() }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(key).integer() }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(key).integer() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try Value(from: member(key))
  }

  func nestedContainer<NestedKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try member(JSONKey("super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

private struct UnkeyedReader: UnkeyedDecodingContainer {
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0
  /// At the next item, or where the list ends.
  private var cursor: JSONCursor

  init(_ decoder: JSONTextDecoder) throws {
    cursor = decoder.cursor
    guard cursor.take(UInt8(ascii: "[")) else { throw decoder.mismatch([JSONValue].self) }
    codingPath = decoder.codingPath
  }

  var count: Int? { nil }

  var isAtEnd: Bool {
    var cursor = cursor
    return cursor.peek() == UInt8(ascii: "]")
  }

  private func item() throws -> JSONTextDecoder {
    let key = JSONKey(currentIndex)
    if isAtEnd {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: codingPath + [key], debugDescription: "the list has ended"))
    }
    return JSONTextDecoder(text: cursor.bytes, start: cursor.position, parents: codingPath, key: key)
  }

  private mutating func stepOver() {
    _ = cursor.skipValue()
    _ = cursor.take(UInt8(ascii: ","))
    currentIndex += 1
  }

  /// Stays at an item that is not what was asked for.
  private mutating func take<Value>(_ read: (JSONTextDecoder) throws -> Value) throws -> Value {
    let value = try read(item())
    stepOver()
    return value
  }

  mutating func decodeNil() throws -> Bool {
    guard try item().isNull else { return false }
    stepOver()
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try take { try $0.flag() } }
  mutating func decode(_ type: String.Type) throws -> String { try take { try $0.string() } }
  mutating func decode(_ type: Double.Type) throws -> Double { try take { try $0.number() } }
  mutating func decode(_ type: Float.Type) throws -> Float { try take { try $0.number() } }
  mutating func decode(_ type: Int.Type) throws -> Int { try take { try $0.integer() } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try take { try $0.integer() } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try take { try $0.integer() } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try take { try $0.integer() } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try take { try $0.integer() } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try take { try $0.integer() } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try take { try $0.integer() } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try take { try $0.integer() } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try take { try $0.integer() } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try take { try $0.integer() } }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try take { try Value(from: $0) } }

  mutating func nestedContainer<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try take { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try take { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try take { $0 } }
}

extension JSONTextDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try flag() }
  func decode(_ type: String.Type) throws -> String { try string() }
  func decode(_ type: Double.Type) throws -> Double { try number() }
  func decode(_ type: Float.Type) throws -> Float { try number() }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }
}
