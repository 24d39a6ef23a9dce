import ArgumentParser
internal import ControlServer
import Glibc
import RelayJSON

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show what the daemon runs.")

  @Flag(help: "Print JSON.") var json = false
  @Flag(help: "Show it again every second.") var watch = false

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    while true {
      let status = try await surroundings.ask(ControlStatus())
      if json {
        print(String(decoding: try JSONCoding.encode(status, sorted: true), as: UTF8.self))
      } else {
        if watch, isatty(1) == 1 { print("\u{1B}[H\u{1B}[2J", terminator: "") }
        print(StatusText.of(status))
      }
      guard watch else { return }
      fflush(nil)
      try await Task.sleep(for: .seconds(1))
    }
  }
}
