import ArgumentParser
internal import ControlServer
import RelayTransport

struct Reload: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Read the configuration again; sessions and plugins that it does not concern keep running.",
    discussion: "Settings that are read at the daemon's start only take effect then; the daemon's log names them.")

  func run() async throws {
    let problems = try await CommandLineEnvironment().ask(ControlReload()).problems
    guard !problems.isEmpty else { return print("The configuration was read again.") }
    for problem in problems { StandardError.say(problem) }
    throw ExitStatus.badConfiguration
  }
}
