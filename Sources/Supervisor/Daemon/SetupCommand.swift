import ArgumentParser
import FoundationEssentials
import Glibc
internal import PluginRuntime
import RelayConfig
internal import RelayHome
internal import RelayJSON
import RelayTransport
import RelayWire

struct Setup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set up a messenger: ask what it needs, try it, and write its part of relay.yaml.",
    discussion: """
      Without a name, the messengers that are installed are listed. What is already in relay.yaml stays as it is, \
      comments included, and a copy of the file is kept. Questions can be answered beforehand with --set and \
      --from-file, or by lines on standard input; a secret is never taken from the command line.
      """)

  @Argument(help: "The messenger: a name that `pi-relayd setup` lists.") var messenger: String?
  @Option(help: "What this instance is called, where there are several.") var instance = "default"
  @Option(name: .customLong("user"), help: "Somebody who may talk to the agent; may be repeated.") var users: [String] =
    []
  @Option(help: ArgumentHelp("The answer to a question, or another setting.", valueName: "name=value"))
  var set: [String] = []
  @Option(help: ArgumentHelp("The answer to a question, from the first line of a file.", valueName: "name=path"))
  var fromFile: [String] = []

  @Option(
    name: .customLong("import"),
    help: ArgumentHelp("Import settings from the bot.config.toml of the Discord assistant bot.", valueName: "path"))
  var importPath: String?

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let surroundings = CommandLineEnvironment()
    do {
      try surroundings.home.prepare()
    } catch {
      throw surroundings.fail(error)
    }
    let installed = MessengerList(surroundings)
    guard let messenger else { return installed.show() }
    guard
      instance.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F })
    else {
      StandardError.say("pi-relayd: --instance \"\(instance)\": names of instances hold only a–z, 0–9, - and _")
      throw ExitStatus.failed
    }
    guard let path = installed.path(of: messenger) else {
      StandardError.say(
        "pi-relayd: there is no messenger \(messenger). "
          + (installed.names.isEmpty
            ? "Put its executable into \(surroundings.home.plugins) first."
            : "Installed: \(installed.names.joined(separator: ", "))."))
      throw ExitStatus.failed
    }
    let file: ConfigurationFile
    do {
      file = try ConfigurationFile(surroundings)
    } catch {
      throw surroundings.fail(error)
    }
    let isThere = file.messengers.contains {
      $0.kind == messenger && $0.instance == instance && !$0.isImplied
    }
    guard !isThere else {
      print("\(file.path) sets up \(messenger) already. Check it with: pi-relayd doctor")
      return
    }
    try await configure(messenger, path, file, surroundings)
  }

  private func configure(
    _ messenger: String, _ path: String, _ file: ConfigurationFile, _ surroundings: CommandLineEnvironment
  ) async throws {
    var answers: SetupAnswers
    do { answers = try SetupAnswers(set: set, fromFile: fromFile) } catch { throw surroundings.fail(error) }
    var bot: ImportedBot?
    if let importPath {
      guard messenger == "discord" else {
        throw surroundings.fail(
          SetupError(
            description: "--import takes the configuration of a Discord bot; run: pi-relayd setup discord --import "
              + importPath))
      }
      do { bot = try await ImportedBot(importPath, surroundings) } catch { throw surroundings.fail(error) }
    }
    if let bot { answers.take(bot) }
    let reply: SetupReply?
    do {
      reply = try await SetupConversation(
        path: path, answers: answers, surroundings: surroundings, proxy: file.proxy
      ).run()
    } catch {
      throw surroundings.fail(error)
    }
    let everyone = users + (reply?.users ?? []).filter { !users.contains($0) }
    bot?.tell()
    do {
      var lines = [try ConfigurationFile.users(everyone)]
      for (name, value) in (reply?.settings ?? [:]).sorted(by: { $0.key < $1.key }) {
        // Settings of every messenger are not said again.
        if name == "proxy", value == file.proxy.map({ .string($0) }) { continue }
        lines.append("\(name): \(try ConfigurationFile.text(value))")
      }
      for (name, secret) in (reply?.secrets ?? [:]).sorted(by: { $0.key < $1.key }) {
        let kept = try file.keep(secret, as: "\(messenger)-\(instance)-\(name)")
        lines.append("\(name)File: \(try ConfigurationFile.text(.string(kept)))")
      }
      lines += bot?.lines ?? []
      if reply == nil {
        lines.append("# The messenger's own settings go here too; `pi-relayd status` says what is missing.")
      }
      let isAdded = try file.add(
        messenger, instance, lines, sections: try bot.map { [("assistant", try $0.assistant())] } ?? [],
        isTried: reply != nil)
      guard isAdded, everyone.isEmpty else { return }
      print("Nobody may talk to it yet: put your id into auth.users, as \(messenger) knows it.")
    } catch {
      throw surroundings.fail(error)
    }
  }
}

/// The messengers that are there to be set up.
struct MessengerList {
  private let plugins: [DiscoveredPlugin]
  private let problems: [String]
  private let folder: String
  /// Plugins that came with the daemon and are no messengers.
  private static let services = ["attachments", "formatter"]

  var names: [String] { plugins.map(\.name) }

  func path(of name: String) -> String? { plugins.first { $0.name == name }?.path }

  init(_ surroundings: CommandLineEnvironment) {
    folder = surroundings.home.plugins
    let found = PluginDiscovery(bundledFolder: surroundings.bundledPlugins, droppedFolder: folder).scan()
    plugins = found.plugins.filter { !Self.services.contains($0.name) }.sorted { $0.name < $1.name }
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
