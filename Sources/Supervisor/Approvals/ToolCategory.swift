/// The kind of an effect that a tool call has. A call may belong to several.
package enum ToolCategory: String, Sendable, CaseIterable {
  // In this order the first one names the call.
  case gitRemote = "git-remote"
  case publish
  case destructive
  /// Every other command.
  case shell
  case fileWrite = "file-write"
  /// Every other tool.
  case custom

  /// The categories of the tools of a kind.
  package static func categories(of kind: ToolCall.Kind) -> [ToolCategory] {
    switch kind {
    case .shell: [.gitRemote, .publish, .destructive, .shell]
    case .fileWrite: [.fileWrite]
    case .other: [.custom]
    }
  }
}

extension ToolCall {
  /// The categories of the call in their order; never none.
  package var categories: [ToolCategory] {
    switch kind {
    case .fileWrite: return [.fileWrite]
    case .other: return [.custom]
    case .shell:
      let found = commands.reduce(into: Set()) { $0.formUnion($1.categories) }
      return found.isEmpty ? [.shell] : ToolCategory.allCases.filter(found.contains)
    }
  }
}

extension SimpleCommand {
  /// Looks for the programs at every place: `sudo`, `env`, `xargs`, `timeout 5` and many others run the words after them.
  /// A program that is only mentioned is found, too: a question too many does no harm.
  var categories: Set<ToolCategory> {
    var found: Set<ToolCategory> = []
    var seen: Set<String> = []
    for (index, word) in words.enumerated() {
      let program = Self.program(word)
      let arguments = words[(index + 1)...]
      if program == "git", GitArguments(arguments).reachesRemote { found.insert(.gitRemote) }
      // Of a program that is named again, the first has all arguments of the others.
      guard seen.insert(program).inserted, let category = Self.category(of: program, with: arguments) else { continue }
      found.insert(category)
    }
    return found
  }

  private static func category(of program: String, with arguments: ArraySlice<String>) -> ToolCategory? {
    func has(_ words: String...) -> Bool { arguments.contains { words.contains($0.lowercased()) } }
    switch program {
    // An alias may stand for any command.
    case "git": return arguments.contains { $0.lowercased().hasPrefix("alias.") } ? .gitRemote : nil
    case "gh": return has("release", "repo") ? .gitRemote : nil
    case "npm", "pnpm", "yarn", "cargo": return has("publish") ? .publish : nil
    case "twine": return has("upload") ? .publish : nil
    case "docker": return has("push", "--push") ? .publish : nil
    case "rm": return arguments.contains(where: isRecursive) ? .destructive : nil
    case "chmod": return arguments.contains { $0.hasSuffix("777") } ? .destructive : nil
    case "dd": return arguments.contains { $0.hasPrefix("if=") || $0.hasPrefix("of=") } ? .destructive : nil
    case "sudo", "chown", "killall", "pkill": return .destructive
    default:
      if GitArguments.isRemoteProgram(program) { return .gitRemote }
      return program.hasPrefix("mkfs") ? .destructive : nil
    }
  }

  /// `-r`, `-R`, `-fr`, `--recursive` and its abbreviations.
  private static func isRecursive(_ option: String) -> Bool {
    if option.hasPrefix("--") { return option.hasPrefix("--r") }
    return option.hasPrefix("-") && option.lowercased().contains("r")
  }
}

/// The words after `git`.
struct GitArguments {
  private let words: ArraySlice<String>

  /// Options of git itself whose value is a word of its own.
  private static let withValue: Set<String> = [
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source",
  ]
  private static let remote = ["push", "pull", "fetch", "remote"]
  /// Commands with commands of their own, some of which reach a remote.
  private static let withCommands = ["subtree", "submodule", "lfs", "annex", "svn"]

  /// Of git itself, with their values.
  private static let maximumOptions = 64
  /// A command of a command is among these words.
  private static let commandLength = 16

  init(_ words: ArraySlice<String>) { self.words = words }

  /// `/usr/lib/git-core/git-push` and the like.
  static func isRemoteProgram(_ program: String) -> Bool {
    remote.contains { program.hasPrefix("git-\($0)") } || program == "git-send-pack"
  }

  /// The number of words before git's command.
  var optionCount: Int {
    var count = 0
    while count < Self.maximumOptions, let word = words.dropFirst(count).first, word.hasPrefix("-") {
      count += Self.withValue.contains(word) ? 2 : 1
    }
    return min(count, words.count)
  }

  var reachesRemote: Bool {
    let count = optionCount
    // A command behind so many options may be any.
    if count >= Self.maximumOptions { return true }
    let words = words.dropFirst(count).prefix(Self.commandLength).map { $0.lowercased() }
    guard let command = words.first else { return false }
    if command == "send-pack" || Self.remote.contains(where: { command == $0 || command.hasPrefix("\($0)-") }) {
      return true
    }
    return Self.withCommands.contains(command) && words.dropFirst().contains { Self.remote.contains($0) }
  }
}
