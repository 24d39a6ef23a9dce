internal import RelayWire

/// JSON whose keys keep their order: pi's lines have a fixed one, and readers may depend on what comes first.
indirect enum OrderedJSON: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  case null
  case bool(Bool)
  case integer(Int)
  case string(String)
  case array([OrderedJSON])
  case object([(String, OrderedJSON)])
  /// JSON text, as it is.
  case raw(String)

  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .integer(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(arrayLiteral elements: OrderedJSON...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, OrderedJSON)...) { self = .object(elements) }

  var text: String {
    switch self {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .integer(let number): "\(number)"
    case .string(let string): Self.quoted(string)
    case .array(let items): "[" + items.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.0) + ":" + $0.1.text }.joined(separator: ",") + "}"
    case .raw(let text): text
    }
  }

  /// This object with more members at its end.
  func adding(_ more: [(String, OrderedJSON)]) -> OrderedJSON {
    guard case .object(let members) = self else { return self }
    return .object(members + more)
  }

  static func quoted(_ string: String) -> String {
    var out = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      case _ where scalar.value < 0x20:
        let hex = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }
}
