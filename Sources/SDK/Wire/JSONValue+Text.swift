/// What is not JSON.
public struct JSONSyntaxError: Error, Equatable, CustomStringConvertible {
  /// In bytes from the beginning.
  public let position: Int

  public var description: String { "not JSON at byte \(position)" }
}

// By hand, since all that a platform says and is told goes through here: the general decoder asks each value what it is
// not, one type after another, and takes many times as long.
extension JSONValue {
  /// Values in values that are read; more would be a stack's end.
  private static let deepest = 512

  /// Reads JSON text. Half of a surrogate pair is read as U+FFFD.
  ///
  /// - Throws: `JSONSyntaxError`.
  public init(text: UnsafeRawBufferPointer) throws {
    var cursor = JSONCursor(text)
    self = try Self.read(&cursor, depth: 0)
    guard cursor.peek() == nil else { throw JSONSyntaxError(position: cursor.position) }
  }

  private static func read(_ cursor: inout JSONCursor, depth: Int) throws -> JSONValue {
    guard let first = cursor.peek(), depth < deepest else { throw JSONSyntaxError(position: cursor.position) }
    switch first {
    case UInt8(ascii: "\""): return .string(try string(&cursor))
    case UInt8(ascii: "{"): return try object(&cursor, depth)
    case UInt8(ascii: "["): return try array(&cursor, depth)
    default: return try scalar(&cursor)
    }
  }

  private static func object(_ cursor: inout JSONCursor, _ depth: Int) throws -> JSONValue {
    cursor.position += 1
    var members: [String: JSONValue] = [:]
    if cursor.take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      let key = try string(&cursor)
      guard cursor.take(UInt8(ascii: ":")) else { throw JSONSyntaxError(position: cursor.position) }
      members[key] = try read(&cursor, depth: depth + 1)
    } while cursor.take(UInt8(ascii: ","))
    guard cursor.take(UInt8(ascii: "}")) else { throw JSONSyntaxError(position: cursor.position) }
    return .object(members)
  }

  private static func array(_ cursor: inout JSONCursor, _ depth: Int) throws -> JSONValue {
    cursor.position += 1
    var items: [JSONValue] = []
    if cursor.take(UInt8(ascii: "]")) { return .array(items) }
    repeat { items.append(try read(&cursor, depth: depth + 1)) } while cursor.take(UInt8(ascii: ","))
    guard cursor.take(UInt8(ascii: "]")) else { throw JSONSyntaxError(position: cursor.position) }
    return .array(items)
  }

  private static func string(_ cursor: inout JSONCursor) throws -> String {
    _ = cursor.peek()
    let start = cursor.position
    guard let text = cursor.validText() else { throw JSONSyntaxError(position: start) }
    return text
  }

  private static func scalar(_ cursor: inout JSONCursor) throws -> JSONValue {
    let start = cursor.position
    guard cursor.skipValue() else { throw JSONSyntaxError(position: start) }
    let word = UnsafeRawBufferPointer(rebasing: cursor.bytes[start..<cursor.position])
    if word.equals("null") { return .null }
    if word.equals("true") { return .bool(true) }
    if word.equals("false") { return .bool(false) }
    guard isNumber(word) else { throw JSONSyntaxError(position: start) }
    let digits = String(decoding: word, as: UTF8.self)
    if let integer = Int64(digits) { return .integer(integer) }
    guard let number = Double(digits), number.isFinite else { throw JSONSyntaxError(position: start) }
    return Int64(exactly: number).map(JSONValue.integer) ?? .number(number)
  }

  /// RFC 8259 §6.
  private static func isNumber(_ word: UnsafeRawBufferPointer) -> Bool {
    var rest = word[...]
    func digits() -> Int {
      let count = rest.prefix { (0x30...0x39).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    let isZero = rest.first == UInt8(ascii: "0")
    let whole = digits()
    guard whole > 0, !isZero || whole == 1 else { return false }
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      guard digits() > 0 else { return false }
    }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }

  /// Appends the value as JSON. What is no number in JSON, an infinity for one, is written as `null`.
  public func write(to out: inout [UInt8]) {
    switch self {
    case .null: out += "null".utf8
    case .bool(let flag): out += (flag ? "true" : "false").utf8
    case .integer(let integer): out += "\(integer)".utf8
    case .number(let number): out += (number.isFinite ? "\(number)" : "null").utf8
    case .string(let text): JSONText.quote(text, into: &out)
    case .array(let items):
      out.append(UInt8(ascii: "["))
      for (index, item) in items.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        item.write(to: &out)
      }
      out.append(UInt8(ascii: "]"))
    case .object(let members):
      out.append(UInt8(ascii: "{"))
      var isFirst = true
      for (key, value) in members {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        JSONText.quote(key, into: &out)
        out.append(UInt8(ascii: ":"))
        value.write(to: &out)
      }
      out.append(UInt8(ascii: "}"))
    }
  }
}

extension JSONCoding {
  public static func encode(_ value: JSONValue) -> [UInt8] {
    var out: [UInt8] = []
    value.write(to: &out)
    return out
  }

  public static func decode(_ type: JSONValue.Type, from bytes: UnsafeRawBufferPointer) throws -> JSONValue {
    try JSONValue(text: bytes)
  }

  public static func decode(_ type: JSONValue.Type, from bytes: [UInt8]) throws -> JSONValue {
    try bytes.withUnsafeBytes { try JSONValue(text: $0) }
  }
}
