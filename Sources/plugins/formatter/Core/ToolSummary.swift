internal import RelayJSON
package import RelayWire

/// Describes each tool call in a line: the tool, with its most informative argument.
package enum ToolSummary {
  static let maximumCommand = 100
  static let maximumValue = 50
  static let maximumArguments = 150

  package static func lines(of request: FormatTool) -> [String] {
    request.calls.map { line(of: $0, dialect: request.dialect) }
  }

  private static func line(of call: FormatTool.Call, dialect: String) -> String {
    let name = oneLine(call.name, limit: maximumValue)
    let shown = dialect == "plain" ? name : "**\(name)**"
    let arguments = arguments(of: call)
    let failed = call.failed == true ? " ✗" : ""
    guard !arguments.isEmpty else { return "🔧 \(shown)\(failed)" }
    return "🔧 \(shown) \(dialect == "plain" ? "(\(arguments))" : code(arguments))\(failed)"
  }

  private static func arguments(of call: FormatTool.Call) -> String {
    guard let members = call.arguments.objectValue else { return "" }
    if call.name == "bash", let command = members["command"]?.stringValue {
      return "$ " + oneLine(command, limit: maximumCommand)
    }
    if ["read", "write", "edit"].contains(call.name), let path = (members["path"] ?? members["file_path"])?.stringValue
    {
      return oneLine(path, limit: maximumCommand)
    }
    let pairs = members.sorted { $0.key < $1.key }.map { "\($0.key)=\(value($0.value))" }
    return oneLine(pairs.joined(separator: " "), limit: maximumArguments)
  }

  private static func value(_ value: JSONValue) -> String {
    let text: String
    switch value {
    case .string(let string): text = string
    case .null: text = "null"
    case .bool(let flag): text = "\(flag)"
    case .integer(let integer): text = "\(integer)"
    case .number(let number): text = "\(number)"
    case .array(let items): text = "[\(items.count)]"
    case .object(let members): text = "{\(members.count)}"
    }
    return oneLine(text, limit: maximumValue)
  }

  private static func oneLine(_ text: String, limit: Int) -> String {
    let line = text.prefix(limit * 4).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return line.count > limit ? line.prefix(limit - 1) + "…" : line
  }

  /// A code span that its contents cannot close.
  private static func code(_ text: String) -> String {
    guard text.contains("`") else { return "`\(text)`" }
    let longest = text.split { $0 != "`" }.map(\.count).max() ?? 0
    let marks = String(repeating: "`", count: longest + 1)
    return "\(marks) \(text) \(marks)"
  }
}
