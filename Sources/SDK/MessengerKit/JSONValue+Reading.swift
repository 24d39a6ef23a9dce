public import PluginSDK

// For reading the JSON of services, in which every member may be missing or of another type.

extension JSONValue {
  /// The number, whole or not; `nil` for anything else.
  public var doubleValue: Double? {
    switch self {
    case .number(let number): number
    case .integer(let integer): Double(integer)
    default: nil
    }
  }

  /// The whole number, where an `Int` holds it; `nil` for anything else.
  public var intValue: Int? { if case .integer(let integer) = self { Int(exactly: integer) } else { nil } }

  /// The items of an array; empty for anything else.
  public var list: [JSONValue] { if case .array(let list) = self { list } else { [] } }

  /// A copy with one member set; a value that is no object stays as it is.
  public func setting(_ name: String, _ value: JSONValue) -> JSONValue {
    guard case .object(var object) = self else { return self }
    object[name] = value
    return .object(object)
  }
}

extension String {
  /// The beginning of the text, of at most `limit` UTF-16 units: for services that count these, Unicode scalars or characters.
  public func cut(_ limit: Int) -> String {
    guard utf16.count > limit else { return self }
    var (end, count) = (startIndex, 0)
    for scalar in unicodeScalars {
      count += scalar.utf16.count
      if count > limit { break }
      end = unicodeScalars.index(after: end)
    }
    return String(self[..<end])
  }
}
