import RelayJSON
import RelayWire

/// The form of a JSON value, in the notation of docs/plugin-protocol.md.
indirect enum Form: Equatable {
  case string, integer, number, boolean, any
  case word([String])
  case list(Form)
  case map(Form)
  case object([Member])

  struct Member: Equatable {
    var name: String
    var isOptional: Bool
    var form: Form
  }

  struct Malformed: Error { var text: String }

  /// - Parameter names: forms that the text may refer to.
  init(_ text: String, names: [String: Form] = [:]) throws {
    var rest = text[...]
    self = try Self.read(&rest, names)
    Self.skipBlanks(&rest)
    guard rest.isEmpty else { throw Malformed(text: String(rest)) }
  }

  private static func skipBlanks(_ rest: inout Substring) { rest = rest.drop(while: \.isWhitespace) }

  private static func take(_ text: String, _ rest: inout Substring) -> Bool {
    skipBlanks(&rest)
    guard rest.hasPrefix(text) else { return false }
    rest = rest.dropFirst(text.count)
    return true
  }

  private static func name(_ rest: inout Substring) -> String {
    skipBlanks(&rest)
    let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "*" }
    rest = rest.dropFirst(name.count)
    return String(name)
  }

  private static func read(_ rest: inout Substring, _ names: [String: Form]) throws -> Form {
    if take("[", &rest) {
      let element = try read(&rest, names)
      guard take("]", &rest) else { throw Malformed(text: String(rest)) }
      return .list(element)
    }
    if take("{", &rest) { return try readObject(&rest, names) }
    if take("\"", &rest) {
      var words: [String] = []
      repeat {
        let word = rest.prefix { $0 != "\"" }
        rest = rest.dropFirst(word.count + 1)
        words.append(String(word))
      } while take("| \"", &rest)
      return .word(words)
    }
    let name = name(&rest)
    switch name {
    case "string": return .string
    case "integer": return .integer
    case "number": return .number
    case "boolean": return .boolean
    case "any": return .any
    default:
      guard let form = names[name] else { throw Malformed(text: "\(name)\(rest)") }
      return form
    }
  }

  private static func readObject(_ rest: inout Substring, _ names: [String: Form]) throws -> Form {
    var members: [Member] = []
    while !take("}", &rest) {
      if !members.isEmpty, !take(",", &rest) { throw Malformed(text: String(rest)) }
      let name = name(&rest)
      let isOptional = take("?", &rest)
      guard take(":", &rest) else { throw Malformed(text: String(rest)) }
      let form = try read(&rest, names)
      if name == "*" {
        guard take("}", &rest) else { throw Malformed(text: String(rest)) }
        return .map(form)
      }
      members.append(Member(name: name, isOptional: isOptional, form: form))
    }
    return .object(members)
  }

  /// A value of this form with every member.
  var whole: JSONValue {
    switch self {
    case .string: "text"
    case .integer: 3
    case .number: .number(1.5)
    case .boolean: true
    case .any: ["anything": [1, "two"]]
    case .word(let words): .string(words[0])
    case .list(let form): [form.whole, form.whole]
    case .map(let form): ["one": form.whole]
    case .object(let members): .object(Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.form.whole) }))
    }
  }

  struct Variant {
    var value: JSONValue
    var isValid: Bool
    /// The change that was made to the whole value.
    var change: String
  }

  /// The whole value with one change each: a member left out, of another type, or another of the words.
  var variants: [Variant] {
    switch self {
    case .any: []
    case .string, .integer, .number: [Variant(value: true, isValid: false, change: "a boolean")]
    case .boolean: [Variant(value: "text", isValid: false, change: "a string")]
    case .word(let words):
      words.map { Variant(value: .string($0), isValid: true, change: $0) }
        + [Variant(value: "no such word", isValid: false, change: "an unknown word")]
    case .list(let form):
      [Variant(value: "text", isValid: false, change: "a string"), Variant(value: [], isValid: true, change: "empty")]
        + form.variants.map { Variant(value: [$0.value], isValid: $0.isValid, change: "[\($0.change)]") }
    case .map(let form):
      [Variant(value: "text", isValid: false, change: "a string")]
        + form.variants.map { Variant(value: ["one": $0.value], isValid: $0.isValid, change: "*: \($0.change)") }
    case .object(let members):
      [Variant(value: "text", isValid: members.isEmpty, change: "a string")]
        + members.flatMap { member in
          var without = whole.objectValue ?? [:]
          without[member.name] = nil
          return [Variant(value: .object(without), isValid: member.isOptional, change: "without \(member.name)")]
            + member.form.variants.map { variant in
              var changed = without
              changed[member.name] = variant.value
              return Variant(
                value: .object(changed), isValid: variant.isValid, change: "\(member.name): \(variant.change)")
            }
        }
    }
  }
}
