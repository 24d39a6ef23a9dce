internal import RelayJSON
internal import RelayText
internal import RelayWire

/// Reads typed values out of one mapping, notes what is wrong, and at the end what nobody asked for.
final class SettingsReader {
  let entries: [YAMLNode.Entry]
  private let context: Context
  /// The dotted path of the mapping, for messages; empty for the whole file.
  private let place: String
  private var asked: Set<String> = []

  /// Shared by all readers of one file.
  final class Context {
    let file: String
    var problems: [ConfigProblem] = []
    var warnings: [String] = []

    init(file: String) { self.file = file }

    func complain(_ mark: Mark, _ message: String) {
      problems.append(ConfigProblem(file: file, mark: mark, message: message))
    }
  }

  /// A node that is no mapping is complained about and reads as empty.
  init(_ node: YAMLNode?, _ context: Context, at place: String = "") {
    self.context = context
    self.place = place
    switch node {
    case .mapping(let entries, _)?: self.entries = entries
    case nil: entries = []
    case let node?:
      if !node.isNull {
        let subject = place.isEmpty ? "" : "\(place): "
        context.complain(node.mark, "\(subject)expected a group of settings, as in NAME: VALUE, found \(node.kind)")
      }
      entries = []
    }
  }

  func node(_ key: String) -> YAMLNode? {
    asked.insert(key)
    guard let value = entries.first(where: { $0.key == key })?.value, !value.isNull else { return nil }
    return value
  }

  func group(_ key: String) -> SettingsReader {
    SettingsReader(node(key), context, at: place.isEmpty ? key : "\(place).\(key)")
  }

  func string(_ key: String) -> String? {
    guard let node = node(key) else { return nil }
    guard case .scalar(let text, _, _) = node else {
      context.complain(node.mark, "\(key): expected a text, found \(node.kind)")
      return nil
    }
    return text
  }

  /// Reads an absolute path, with `~` expanded. A relative path would depend on the directory in which the daemon was
  /// started.
  func path(_ key: String) -> String? {
    guard let path = string(key).map(ConfigReader.expandTilde) else { return nil }
    if path.hasPrefix("/") { return path }
    if let mark = node(key)?.mark { context.complain(mark, "\(key): expected a path that begins with / or ~/") }
    return nil
  }

  /// The address of a proxy; empty: none.
  func proxy(_ key: String) -> String? {
    guard let address = string(key) else { return nil }
    if let problem = ProxyAddress.problem(with: address), let mark = node(key)?.mark {
      context.complain(mark, "\(key): \(problem)")
    }
    return address
  }

  func flag(_ key: String) -> Bool? {
    guard let node = node(key) else { return nil }
    if case .scalar(let text, _, _) = node {
      switch text {
      case "true", "yes", "on": return true
      case "false", "no", "off": return false
      default: break
      }
    }
    context.complain(node.mark, "\(key): expected true or false")
    return nil
  }

  func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
    guard let node = node(key) else { return nil }
    if case .scalar(let text, _, _) = node, let number = Int(text), range.contains(number) { return number }
    context.complain(node.mark, "\(key): expected a whole number from \(range.lowerBound) to \(range.upperBound)")
    return nil
  }

  func number(_ key: String, in range: ClosedRange<Double>) -> Double? {
    guard let node = node(key) else { return nil }
    if case .scalar(let text, _, _) = node, let number = Double(text), range.contains(number) { return number }
    context.complain(node.mark, "\(key): expected a number from \(range.lowerBound) to \(range.upperBound)")
    return nil
  }

  func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _ type: Choice.Type) -> Choice?
  where Choice.RawValue == String {
    guard let node = node(key) else { return nil }
    if case .scalar(let text, _, _) = node, let choice = Choice(rawValue: text) { return choice }
    let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    context.complain(node.mark, "\(key): expected one of \(known)")
    return nil
  }

  /// The items of a list; none where there is no list.
  func items(_ key: String) -> [YAMLNode] { list(key) ?? [] }

  private func list(_ key: String) -> [YAMLNode]? {
    guard let node = node(key) else { return nil }
    if case .sequence(let items, _) = node { return items }
    context.complain(node.mark, "\(key): expected a list, found \(node.kind); write it as [a, b] or with dashes")
    return nil
  }

  func strings(_ key: String) -> [String]? {
    list(key)?.compactMap { item in
      if case .scalar(let text, _, _) = item { return text }
      context.complain(item.mark, "\(key): expected a text, found \(item.kind)")
      return nil
    }
  }

  /// Regular expressions, as they are written.
  func patterns(_ key: String) -> [String]? {
    guard case .sequence(let items, _)? = node(key) else { return strings(key) }
    for case .scalar(let text, _, let mark) in items where Pattern(text) == nil || text.isEmpty {
      context.complain(mark, "\(key): \"\(text)\" is no regular expression")
    }
    return strings(key)
  }

  func stringMap(_ key: String) -> [String: String]? {
    guard node(key) != nil else { return nil }
    let group = group(key)
    var result: [String: String] = [:]
    for entry in group.entries { result[entry.key] = group.string(entry.key) }
    return result
  }

  /// Settings that were not read.
  var rest: [YAMLNode.Entry] { entries.filter { !asked.contains($0.key) } }

  /// Complains about every key nobody asked for.
  func refuseRest(_ place: String) {
    for entry in rest {
      let meant = Spelling.nearest(to: entry.key, in: asked).map { " (did you mean \"\($0)\"?)" } ?? ""
      context.complain(entry.mark, "unknown key \"\(entry.key)\"\(place.isEmpty ? "" : " in \(place)")\(meant)")
    }
  }
}

extension SettingsReader.Context {
  /// Complains about ids without quotes in settings that a plugin gets as JSON: in a list of channels, and every whole
  /// number that changes in a reader which keeps numbers as `Double`.
  func refuseUnquotedIDs(_ path: String, _ node: YAMLNode, isChannels: Bool) {
    switch node {
    case .scalar(let text, isPlain: true, let mark):
      guard isChannels ? node.json.stringValue == nil && !node.isNull : YAMLNode.isUnsafeInteger(text) else { return }
      complain(mark, "\(path): put it in quotes" + (ConfigReader.isSecret(path) ? "" : ": \"\(text)\""))
    case .scalar: break
    case .sequence(let items, _):
      for (index, item) in items.enumerated() { refuseUnquotedIDs("\(path).\(index)", item, isChannels: isChannels) }
    case .mapping(let entries, _):
      for entry in entries { refuseUnquotedIDs("\(path).\(entry.key)", entry.value, isChannels: false) }
    }
  }
}

extension YAMLNode {
  private static let largestSafeInteger: Int64 = 1 << 53 - 1

  /// True for a whole number of more digits than a `Double` holds.
  static func isUnsafeInteger(_ text: String) -> Bool {
    let digits = text.first == "-" || text.first == "+" ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return false }
    return Int64(digits).map { $0 > largestSafeInteger } ?? true
  }

  /// The value as a plugin gets it.
  var json: JSONValue {
    switch self {
    case .mapping(let entries, _):
      .object(Dictionary(entries.map { ($0.key, $0.value.json) }, uniquingKeysWith: { first, _ in first }))
    case .sequence(let items, _): .array(items.map(\.json))
    case .scalar(let text, isPlain: false, _): .string(text)
    case .scalar(let text, isPlain: true, _): Self.plain(text)
    }
  }

  private static func plain(_ text: String) -> JSONValue {
    switch text {
    case "", "~", "null": .null
    case "true": .bool(true)
    case "false": .bool(false)
    default:
      if let integer = Int64(text) {
        .integer(integer)
      } else if let number = Double(text), text.first?.isNumber == true || text.first == "-" {
        .number(number)
      } else {
        .string(text)
      }
    }
  }

  /// The place of every value, by its dotted path.
  func places(_ prefix: String = "") -> [String: Mark] {
    var result = [prefix: mark]
    switch self {
    case .scalar: break
    case .sequence(let items, _):
      for (index, item) in items.enumerated() {
        result.merge(item.places(prefix.isEmpty ? "\(index)" : "\(prefix).\(index)")) { first, _ in first }
      }
    case .mapping(let entries, _):
      for entry in entries {
        result.merge(entry.value.places(prefix.isEmpty ? entry.key : "\(prefix).\(entry.key)")) { first, _ in first }
      }
    }
    return result
  }
}
