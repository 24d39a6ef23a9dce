public import PluginSDK

// For what services send: every member may be missing or of another type.

extension JSONValue {
  /// A number of either kind.
  public var doubleValue: Double? {
    switch self {
    case .number(let number): number
    case .integer(let integer): Double(integer)
    default: nil
    }
  }

  /// A whole number that an `Int` holds.
  public var intValue: Int? { if case .integer(let integer) = self { Int(exactly: integer) } else { nil } }

  /// The items of an array; none of anything else.
  public var list: [JSONValue] { if case .array(let list) = self { list } else { [] } }

  /// A copy with one member set; a value that is not an object stays unchanged.
  public func setting(_ name: String, _ value: JSONValue) -> JSONValue {
    guard case .object(var object) = self else { return self }
    object[name] = value
    return .object(object)
  }
}

extension String {
  /// Its beginning, at most this many UTF-16 units of it, which no service counts more strictly.
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
