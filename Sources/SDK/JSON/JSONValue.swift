internal import FoundationEssentials

/// Any JSON value: for parts of a message that the reader passes on or that only the other side understands.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The member of an object; `nil` where there is none, and for a value that is no object.
  public subscript(key: String) -> JSONValue? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  /// The text of a string; `nil` for other values.
  public var stringValue: String? { if case .string(let text) = self { text } else { nil } }
  /// The truth value of a boolean; `nil` for other values.
  public var boolValue: Bool? { if case .bool(let flag) = self { flag } else { nil } }
  /// The items of an array; `nil` for other values.
  public var arrayValue: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
  /// The members of an object; `nil` for other values.
  public var objectValue: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
  /// The value of an integer, or of a number without a fraction that fits; `nil` for other values.
  public var integerValue: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int64(exactly: value)
    default: nil
    }
  }
}

extension JSONValue: Codable {
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? JSONTextDecoder {
      self = try decoder.value()
      return
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .bool(flag)
    } else if let integer = try? container.decode(Int64.self) {
      self = .integer(integer)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let items = try? container.decode([JSONValue].self) {
      self = .array(items)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? JSONTextEncoder { return encoder.write(self) }
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let flag): try container.encode(flag)
    case .integer(let integer): try container.encode(integer)
    case .number(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let items): try container.encode(items)
    case .object(let members): try container.encode(members)
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
  }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

/// The one way JSON is written and read here.
public enum JSONCoding {
  /// The value as one line of JSON, without the newline. `sorted` gives a stable key order.
  public static func encode<Value: Encodable>(_ value: Value, sorted: Bool = false) throws -> [UInt8] {
    let line = try JSONTextEncoder.encode(value)
    guard sorted else { return line }
    var out: [UInt8] = []
    try decode(JSONValue.self, from: line).write(to: &out, sorted: true)
    return out
  }

  /// Reads a value, accepting escaped halves of surrogate pairs as U+FFFD.
  public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
    try JSONTextDecoder.decode(type, from: bytes)
  }

  /// Reads a value, accepting escaped halves of surrogate pairs as U+FFFD.
  ///
  /// - Throws: `DecodingError`.
  public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
    try bytes.withUnsafeBytes { try decode(type, from: $0) }
  }

  /// Reads a value out of another, for example a plugin's own configuration out of its subtree: by Foundation's decoder,
  /// which knows how a `URL` is written.
  public static func convert<Value: Decodable>(_ value: JSONValue, to type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(encode(value)))
  }
}
