/// The error of a text that is not JSON.
public struct JSONSyntaxError: Error, Equatable, CustomStringConvertible {
  /// In bytes from the beginning.
  public let position: Int

  public var description: String { "not JSON at byte \(position)" }
}

// Written by hand, because every message of a platform passes here: the general decoder tries one type after another
// for each value, and takes many times as long.
extension JSONValue {
  /// Values in values that are read; more would be a stack's end.
  private static let deepest = 512

  /// Reads JSON text. Half of a surrogate pair is read as U+FFFD.
  ///
  /// - Throws: `JSONSyntaxError`.
  public init(text: UnsafeRawBufferPointer) throws {
    self = try Self.readWhole(text, builds: true)
  }

  /// Throws when the text is not JSON, and builds nothing. Strings are looked into only by those who read them.
  static func check(_ text: UnsafeRawBufferPointer) throws {
    _ = try readWhole(text, builds: false)
  }

  private static func readWhole(_ text: UnsafeRawBufferPointer, builds: Bool) throws -> JSONValue {
    var cursor = JSONCursor(text)
    let value = try read(&cursor, builds: builds)
    guard cursor.peek() == nil else { throw JSONSyntaxError(position: cursor.position) }
    return value
  }

  /// Reads the next value; the result is `null` where no value must be built.
  static func read(_ cursor: inout JSONCursor, depth: Int = 0, builds: Bool = true) throws -> JSONValue {
    guard let first = cursor.peek(), depth < deepest else { throw JSONSyntaxError(position: cursor.position) }
    switch first {
    case UInt8(ascii: "\""): return .string(try string(&cursor, builds))
    case UInt8(ascii: "{"): return try object(&cursor, depth, builds)
    case UInt8(ascii: "["): return try array(&cursor, depth, builds)
    default: return try scalar(&cursor, builds)
    }
  }

  private static func object(_ cursor: inout JSONCursor, _ depth: Int, _ builds: Bool) throws -> JSONValue {
    cursor.position += 1
    var members: [String: JSONValue] = [:]
    if cursor.take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      let key = try string(&cursor, builds)
      guard cursor.take(UInt8(ascii: ":")) else { throw JSONSyntaxError(position: cursor.position) }
      let value = try read(&cursor, depth: depth + 1, builds: builds)
      if builds { members[key] = value }
    } while cursor.take(UInt8(ascii: ","))
    guard cursor.take(UInt8(ascii: "}")) else { throw JSONSyntaxError(position: cursor.position) }
    return .object(members)
  }

  private static func array(_ cursor: inout JSONCursor, _ depth: Int, _ builds: Bool) throws -> JSONValue {
    cursor.position += 1
    var items: [JSONValue] = []
    if cursor.take(UInt8(ascii: "]")) { return .array(items) }
    repeat {
      let item = try read(&cursor, depth: depth + 1, builds: builds)
      if builds { items.append(item) }
    } while cursor.take(UInt8(ascii: ","))
    guard cursor.take(UInt8(ascii: "]")) else { throw JSONSyntaxError(position: cursor.position) }
    return .array(items)
  }

  private static func string(_ cursor: inout JSONCursor, _ builds: Bool) throws -> String {
    _ = cursor.peek()
    let start = cursor.position
    guard let text = builds ? cursor.validText() : cursor.string().map({ _ in "" }) else {
      throw JSONSyntaxError(position: start)
    }
    return text
  }

  private static func scalar(_ cursor: inout JSONCursor, _ builds: Bool) throws -> JSONValue {
    let start = cursor.position
    guard cursor.skipValue() else { throw JSONSyntaxError(position: start) }
    let word = UnsafeRawBufferPointer(rebasing: cursor.bytes[start..<cursor.position])
    if word.equals("null") { return .null }
    if word.equals("true") { return .bool(true) }
    if word.equals("false") { return .bool(false) }
    guard isNumber(word) else { throw JSONSyntaxError(position: start) }
    guard builds else { return .null }
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

  /// Appends the value as JSON. A number that JSON cannot express, such as infinity, is written as `null`.
  ///
  /// - Parameter sorted: gives a stable order of members.
  public func write(to out: inout [UInt8], sorted: Bool = false) {
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
        item.write(to: &out, sorted: sorted)
      }
      out.append(UInt8(ascii: "]"))
    case .object(let members):
      out.append(UInt8(ascii: "{"))
      var isFirst = true
      let members = sorted ? members.sorted { $0.key < $1.key } : Array(members)
      for (key, value) in members {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        JSONText.quote(key, into: &out)
        out.append(UInt8(ascii: ":"))
        value.write(to: &out, sorted: sorted)
      }
      out.append(UInt8(ascii: "}"))
    }
  }
}

extension JSONCoding {
  /// Returns the value as one line of JSON, without the newline.
  public static func encode(_ value: JSONValue) -> [UInt8] {
    var out: [UInt8] = []
    value.write(to: &out)
    return out
  }

  /// Reads a value.
  ///
  /// - Throws: `JSONSyntaxError`.
  public static func decode(_ type: JSONValue.Type, from bytes: UnsafeRawBufferPointer) throws -> JSONValue {
    try JSONValue(text: bytes)
  }

  /// Reads a value.
  ///
  /// - Throws: `JSONSyntaxError`.
  public static func decode(_ type: JSONValue.Type, from bytes: [UInt8]) throws -> JSONValue {
    try bytes.withUnsafeBytes { try JSONValue(text: $0) }
  }
}
