import ArgumentParser
internal import ControlServer
import RelayJSON
internal import RelayModel

struct Sessions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "List the agent's sessions.")
  @Flag(help: "Print JSON.") var json = false

  func run() async throws {
    let sessions = try await CommandLineEnvironment().ask(SessionListRequest()).sessions
    if json {
      print(String(decoding: try JSONCoding.encode(sessions, sorted: true), as: UTF8.self))
    } else if sessions.isEmpty {
      print("There are no sessions.")
    } else {
      for line in StatusText.sessions(sessions, withIDs: true) { print(line) }
    }
  }
}
