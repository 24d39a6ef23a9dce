import ArgumentParser
import FoundationEssentials
import Glibc
import RelayConfig
import RelayPipes
import Supervisor

struct Setup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set up a messenger: write its part of relay.yaml, or say what to add.",
    discussion: """
      Without a name, the messengers that are installed are listed. An existing relay.yaml is never changed: what is \
      to be added is printed. `--user` admits somebody by the id that the messenger knows; without it nobody is admitted.
      """)

  @Argument(help: "The messenger: the name of its executable in the plugin folder.") var messenger: String?
  @Option(name: .customLong("user"), help: "Somebody who may talk to the agent; may be repeated.") var users: [String] =
    []

  func run() async throws {
    let surroundings = Surroundings()
    do {
      try surroundings.folders.prepare()
    } catch {
      throw surroundings.fail(error)
    }
    let installed = MessengerList(surroundings)
    guard let messenger else { return installed.show() }
    guard installed.names.contains(messenger) else {
      StandardError.say(
        "pi-relayd: there is no messenger \(messenger). "
          + (installed.names.isEmpty
            ? "Put its executable into \(surroundings.folders.plugins) first."
            : "Installed: \(installed.names.joined(separator: ", "))."))
      throw ExitStatus.failed
    }
    try configure(messenger, surroundings)
  }

  private func configure(_ messenger: String, _ surroundings: Surroundings) throws {
    let reader = ConfigReader(environment: surroundings.environment)
    let section = Self.section(for: messenger, users: users)
    let loaded: ConfigReader.Loaded
    do {
      loaded = try reader.load(surroundings.folders.configurationCandidates)
    } catch {
      throw surroundings.fail(error)
    }
    if let path = loaded.path {
      guard !loaded.config.messengers.contains(where: { $0.kind == messenger }) else {
        print("\(path) sets up \(messenger) already. Check it with: pi-relayd config check")
        return
      }
      print("\(path) is yours, so nothing was changed. Add this under `messengers:`, then run: pi-relayd reload\n")
      print(section)
      return
    }
    let path = surroundings.folders.home + "/relay.yaml"
    try write(
      "# pi-relay. All settings: docs/configuration.md. Check this file with: pi-relayd config check\n\nmessengers:\n"
        + section + "\n", to: path, surroundings)
    print("\(path) now sets up \(messenger).")
    if users.isEmpty { print("Nobody may talk to it yet: put your id into auth.users, as \(messenger) knows it.") }
    print("Next: pi-relayd start (or, if it runs: pi-relayd reload), then pi-relayd status.")
  }

  static func section(for messenger: String, users: [String]) -> String {
    let list = users.map { "\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"" }
    return """
        \(messenger):
          default:
            auth:
              users: [\(list.joined(separator: ", "))]   # who may talk to the agent; nobody while this is empty
            # The messenger's own settings go here too; what it misses, `pi-relayd status` says.
      """
  }

  private func write(_ text: String, to path: String, _ surroundings: Surroundings) throws {
    // Never over a file that appeared meanwhile.
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw surroundings.fail(SystemError("open \(path)")) }
    defer { _ = close(descriptor) }
    let bytes = Array(text.utf8)
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw surroundings.fail(SystemError("write \(path)"))
    }
  }
}

/// The messengers that are there to be set up.
struct MessengerList {
  let names: [String]
  private let problems: [String]
  private let folder: String
  /// What came with the daemon and is no messenger.
  private static let services = ["attachments", "formatter"]

  init(_ surroundings: Surroundings) {
    folder = surroundings.folders.plugins
    let found = PluginDiscovery(bundledFolder: surroundings.bundledPlugins, droppedFolder: folder).scan()
    names = found.plugins.map(\.name).filter { !Self.services.contains($0) }.sorted()
    problems = found.problems
  }

  func show() {
    if names.isEmpty {
      print(
        """
        No messenger is installed yet.
        Put one into \(folder): any executable that speaks the plugin protocol (docs/writing-a-plugin.md).
        Then: pi-relayd setup NAME
        Without one you can talk to the agent in this terminal: pi-relayd chat
        """)
    } else {
      print("Installed: \(names.joined(separator: ", ")). Set one up with: pi-relayd setup \(names[0])")
    }
    for problem in problems { print("Note: \(problem)") }
  }
}
