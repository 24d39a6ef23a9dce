import ArgumentParser
internal import ControlServer
import FoundationEssentials
import Glibc
internal import PluginConformance
internal import PluginRuntime
import RelayConcurrency
internal import RelayHome
import RelayJSON
import RelayTransport

struct Plugins: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List plugins, restart, enable or disable one, or check one against the protocol.",
    subcommands: [List.self, Restart.self, Enable.self, Disable.self, Check.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List plugins and how they are.")
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
      let status = try await CommandLineEnvironment().ask(ControlStatus())
      if json {
        print(String(decoding: try JSONCoding.encode(status.plugins, sorted: true), as: UTF8.self))
        return
      }
      for line in StatusText.plugins(status.plugins) { print(line) }
      for problem in status.problems { print("Problem: \(problem)") }
    }
  }

  struct Restart: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Stop a plugin and start it again.")
    @Argument(help: "Its name, as `pi-relayd plugins` shows it.") var name: String

    func run() async throws { try await Plugins.change(name, .restart) }
  }

  struct Enable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Start a plugin that was disabled.")
    @Argument(help: "Its name, as `pi-relayd plugins` shows it.") var name: String

    func run() async throws { try await Plugins.change(name, .enable) }
  }

  struct Disable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Stop a plugin and keep it off, after a start of the daemon too, until it is enabled.")
    @Argument(help: "Its name, as `pi-relayd plugins` shows it.") var name: String

    func run() async throws { try await Plugins.change(name, .disable) }
  }

  private static func change(_ name: String, _ change: PluginRegistry.Change) async throws {
    _ = try await CommandLineEnvironment().ask(ControlPlugin(name: name, change: change))
    switch change {
    case .restart: print("\(name) is restarted.")
    case .enable: print("\(name) is enabled.")
    case .disable: print("\(name) is disabled; start it with: pi-relayd plugins enable \(name)")
    }
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Try a plugin against the protocol, without a daemon.")
    @Argument(help: "The plugin's executable.") var path: String
    @Option(help: "A file with the plugin's configuration, as JSON.") var config: String?
    @Flag(help: "Print JSON, a line for each check.") var json = false

    func run() async throws {
      signal(SIGPIPE, SIG_IGN)
      let surroundings = CommandLineEnvironment()
      let folder = FileManager.default.temporaryDirectory.appending(path: "pi-relay-check-\(UUID().uuidString)").path
      do {
        try surroundings.home.makePrivate(folder)
      } catch {
        throw surroundings.fail(error)
      }
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
      let kit = ConformanceSuite(
        path: absolute, config: try configuration(surroundings), environment: surroundings.environment, folder: folder)
      let passed = await kit.run { result in
        if json {
          let line = try? JSONCoding.encode(result, sorted: true)
          print(String(decoding: line ?? [], as: UTF8.self))
        } else {
          print(result.line)
        }
      }
      if !passed { throw ExitStatus.failed }
    }

    private func configuration(_ surroundings: CommandLineEnvironment) throws -> JSONValue {
      guard let config else { return .object([:]) }
      guard let data = FileManager.default.contents(atPath: config) else {
        StandardError.say("pi-relayd: --config \(config) cannot be read: \(SystemError.reason())")
        throw ExitStatus.failed
      }
      do {
        return try JSONCoding.decode(JSONValue.self, from: [UInt8](data))
      } catch {
        StandardError.say("pi-relayd: \(config) is not JSON")
        throw ExitStatus.failed
      }
    }
  }
}
