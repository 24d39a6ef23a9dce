package import RelayJSON
internal import RelayWire

/// A call of a tool that the agent is about to make.
package struct ToolCall: Sendable, Equatable {
  /// The tool's name in lower case, as rules compare it.
  package let tool: String
  /// The arguments as the agent wrote them. Rules read them; nothing stores or shows them.
  package let input: JSONValue
  /// The input is cut: what a rule looks for may be in the rest.
  package let isTruncated: Bool
  /// The directory in which the agent works.
  package let directory: String
  /// The command line; all texts of the input where a shell is called in an unknown form; `nil` for calls without a command.
  let command: String?
  let commands: [SimpleCommand]

  package init(tool: String, input: JSONValue, isTruncated: Bool = false, directory: String) {
    self.tool = tool.trimmingWhitespace().lowercased()
    self.input = input
    self.isTruncated = isTruncated
    self.directory = directory
    let isShell = Self.kind(ofTool: self.tool) == .shell
    command =
      input["command"]?.stringValue ?? (isShell ? Self.texts(in: input).joined(separator: "\n") : nil)
    commands = command.map { ShellCommands($0).all } ?? []
  }

  package enum Kind: Sendable, CaseIterable {
    case shell
    case fileWrite
    case other
  }

  package static func kind(ofTool tool: String) -> Kind {
    switch tool {
    case "bash": .shell
    case "write", "edit": .fileWrite
    default: .other
    }
  }

  package var kind: Kind { Self.kind(ofTool: tool) }

  /// The files that the input names, as they are written and as they are found from the directory.
  var paths: [String] {
    guard case .object(let members) = input else { return [] }
    let written = members.filter { Self.namesPath($0.key) }.sorted { $0.key < $1.key }
      .flatMap { Self.texts(in: $0.value) }
    return written + written.map { Self.resolved($0, in: directory) }
  }

  var texts: [String] { Self.texts(in: input) }

  private static func namesPath(_ key: String) -> Bool {
    let key = key.lowercased()
    return ["path", "paths", "file", "files", "filename", "directory", "dir", "folder"].contains { key.hasSuffix($0) }
  }

  private static func texts(in value: JSONValue) -> [String] {
    switch value {
    case .string(let text): [text]
    case .array(let items): items.flatMap(texts)
    case .object(let members): members.sorted { $0.key < $1.key }.flatMap { texts(in: $0.value) }
    case .null, .bool, .integer, .number: []
    }
  }

  /// The absolute path without `.` and `..`; links are not followed.
  private static func resolved(_ path: String, in directory: String) -> String {
    var parts: [Substring] = []
    for part in (path.hasPrefix("/") ? path : directory + "/" + path).split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }
}
