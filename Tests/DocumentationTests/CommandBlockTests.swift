import FoundationEssentials
import ProcessSupervision
import RelayConcurrency
import RelayTransport
import TestSupport
import Testing

/// A fenced block of a document.
private struct Block: Sendable {
  let document: String
  let language: String
  let lines: [String]

  var text: String { lines.joined(separator: "\n") }

  static func all() throws -> [Block] {
    let names = try FileManager.default.contentsOfDirectory(atPath: root.path + "/docs").filter { $0.hasSuffix(".md") }
    return try (["README.md"] + names.sorted().map { "docs/\($0)" }).flatMap { name in
      let text = try String(contentsOf: URL(filePath: "\(root.path)/\(name)"), encoding: .utf8)
      var blocks: [Block] = []
      var open: (language: String, lines: [String])?
      for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
        guard line.hasPrefix("```") else {
          open?.lines.append(line)
          continue
        }
        if let block = open {
          blocks.append(Block(document: name, language: block.language, lines: block.lines))
          open = nil
        } else {
          open = (String(line.dropFirst(3)), [])
        }
      }
      return blocks
    }
  }
}

/// The documents' commands are run as a reader would run them.
@Suite(.serialized, .timeLimit(.minutes(1))) struct CommandBlockTests {
  private enum Kind: Sendable, Equatable {
    case runs
    /// Why it cannot be run here.
    case cannotRun(String)
  }

  /// By the first command of each block.
  private static let kinds: [String: Kind] = [
    "make run": .cannotRun("it makes the release build; the conversation that it opens is held in a test below"),
    "make bench": .cannotRun("it takes ten minutes; the tests run its quick form"),
    "pi-relayd setup irc": .cannotRun("it needs a server; IRCTests run it against ngircd"),
    "pi-relayd setup discord": .cannotRun("it needs a bot's token; DiscordSetupTests run it against a fake Discord"),
    "pi-relayd setup slack": .cannotRun("it needs an app's tokens; SlackInteractionTests run it against a fake Slack"),
    "pi-relayd pair discord": .cannotRun("it waits for a person; PairingTests play the person"),
    "mkdir -p ~/.pi/agent/relay/plugins": .runs,
    "pi-relayd plugins check ./mine --config settings.json": .runs,
  ]

  private static func kind(_ block: Block) -> Kind? {
    kinds.first { block.lines.first?.hasPrefix($0.key) == true }?.value
  }

  @Test func `every block of commands is run here or says why not`() throws {
    let blocks = try Block.all().filter { $0.language == "sh" }
    #expect(blocks.count >= Self.kinds.count)
    for block in blocks { #expect(Self.kind(block) != nil, "\(block.document): \(block.text)") }
    for (words, _) in Self.kinds {
      #expect(blocks.contains { $0.lines.first?.hasPrefix(words) == true }, "no document says \(words) any more")
    }
  }

  @Test func `the blocks of commands do what the documents describe`() async throws {
    for block in try Block.all() where block.language == "sh" && Self.kind(block) == .runs {
      let folder = try TemporaryFolder()
      let environment = try prepare(folder)
      let start = try await run("pi-relayd start --detach", in: folder, environment)
      #expect(start.exit == .exited(0), "\(start.errors)")
      let here = block.document == "README.md" ? root.path : folder.path
      let command = try await run("cd '\(here)'\n\(block.text)", in: folder, environment)
      #expect(command.exit == .exited(0), "\(block.document): \(command.output) \(command.errors)")
      if block.document == "README.md" {
        // The result that the block promises: the messenger runs.
        let waiting = try await run(
          "until pi-relayd plugins | grep -q 'file-messenger/default *running'; do sleep 0.05; done", in: folder,
          environment)
        #expect(waiting.exit == .exited(0))
      }
      #expect(try await run("pi-relayd stop", in: folder, environment).exit == .exited(0))
    }
  }

  /// A home, a plugin of one's own with its settings, and an editor that writes what the README shows.
  private func prepare(_ folder: TemporaryFolder) throws -> [String: String] {
    let yaml = try #require(try Block.all().first { $0.document == "README.md" && $0.language == "yaml" })
    try folder.write("shown.yaml", yaml.text.replacing("/tmp/", with: "\(folder.path)/") + "\n")
    let plugin = try String(
      contentsOf: URL(filePath: root.path + "/examples/plugins/folder-messenger.py"), encoding: .utf8)
    try folder.write("mine", plugin, executable: true)
    try folder.write("settings.json", "{\"folder\": \"\(folder.path)/box\"}")
    return ["HOME": folder.path, "PATH": "\(Built.folder):/usr/bin:/bin", "EDITOR": "cp \(folder.path)/shown.yaml"]
  }

  @Test func `the tutorial's plugin is shown whole, and is the example`() throws {
    let example = try String(
      contentsOf: URL(filePath: root.path + "/examples/plugins/folder-messenger.py"), encoding: .utf8)
    let shown = try Block.all().filter { $0.document == "docs/writing-a-plugin.md" && $0.language == "python" }
    func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }
    #expect(shown.flatMap { lines($0.text) } == lines(example))
  }

  private func run(
    _ script: String, in folder: TemporaryFolder, _ environment: [String: String]
  ) async throws -> Command {
    try await Command.run("/bin/bash", ["-euc", script], environment: environment)
  }

  /// The first block of the README, typed at a terminal.
  @Test func `the conversation in the README is the real one`() async throws {
    let block = try #require(try Block.all().first { $0.lines.first == "$ make run" })
    var groups: [(typed: String, shown: [String])] = []
    for line in block.lines.dropFirst() {
      if line.hasPrefix("› ") {
        groups.append((String(line.dropFirst(2)), []))
      } else if line.hasPrefix("   "), let before = groups[groups.count - 1].shown.popLast() {
        // A long line continues indented.
        groups[groups.count - 1].shown.append(before + line.dropFirst(2))
      } else {
        groups[groups.count - 1].shown.append(line)
      }
    }
    let folder = try TemporaryFolder()
    let script = Conversation(groups)
    let command = try await Command.converse(
      "/usr/bin/script", ["-qec", Built.executable("pi-relayd") + " chat --stop-daemon", "/dev/null"],
      environment: ["HOME": folder.path, "PATH": "/bin:/nowhere", "TERM": "xterm"]
    ) { line, type in script.read(line, type) }
    #expect(command.exit == .exited(0), "\(script.missing) \(command.output)")
    #expect(script.missing == [])
  }

  /// Types one line after another, each when everything before it has been answered as it is written.
  private final class Conversation: Sendable {
    private let state: Locked<(groups: [(typed: String, shown: [String])], isBegun: Bool)>

    init(_ groups: [(typed: String, shown: [String])]) { state = Locked((groups, false)) }

    var missing: [String] { state.withLock { $0.groups.flatMap { [$0.typed] + $0.shown } } }

    func read(_ line: String, _ type: (String) -> Void) {
      let words: String? = state.withLock { state in
        if !state.isBegun {
          guard line.contains("Ctrl-D leaves") else { return nil }
          state.isBegun = true
          return state.groups.first?.typed
        }
        guard let next = state.groups.first?.shown.first, plain(line).contains(next) else { return nil }
        state.groups[0].shown.removeFirst()
        guard state.groups[0].shown.isEmpty else { return nil }
        state.groups.removeFirst()
        return state.groups.first?.typed ?? "\u{4}"
      }
      if let words { type(words) }
    }

    private func plain(_ line: String) -> String { line.replacing(/\u{1B}\[[0-9;]*[A-Za-z]/, with: "") }
  }
}
