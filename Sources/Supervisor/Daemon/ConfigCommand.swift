import ArgumentParser
import Glibc
import RelayConcurrency
import RelayConfig
internal import RelayHome
import RelayJSON
import RelayTransport

struct ConfigCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Look at the configuration.", subcommands: [Check.self])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check relay.yaml without starting anything.",
      discussion: "Plugins check their own part when they start; `pi-relayd status` shows what they say.")
    @Argument(help: "The file; the home's relay.yaml if left out.") var file: String?
    @Flag(help: "One JSON object for each problem and warning.") var json = false

    private struct Finding: Encodable {
      var kind: String
      var message: String
      var file: String?
      var line: Int?
      var column: Int?
    }

    private func tell(_ finding: Finding) throws {
      print(String(decoding: try JSONCoding.encode(finding, sorted: true), as: UTF8.self))
    }

    func run() async throws {
      let surroundings = CommandLineEnvironment()
      let candidates = file.map { [$0] } ?? surroundings.home.configurationCandidates
      if let file, access(file, R_OK) != 0 {
        StandardError.say("pi-relayd: \(file) cannot be read: \(SystemError.reason())")
        throw ExitStatus.badConfiguration
      }
      do {
        let loaded = try ConfigReader(environment: surroundings.environment).load(candidates)
        for warning in loaded.warnings {
          if json {
            try tell(Finding(kind: "warning", message: warning))
          } else {
            StandardError.say("Warning: \(warning)")
          }
        }
        if json { return }
        print(loaded.path.map { "\($0) is right." } ?? "There is no relay.yaml; the defaults hold.")
      } catch {
        guard json else {
          StandardError.say("\(error)")
          throw ExitStatus.badConfiguration
        }
        if let problems = error as? ConfigProblems {
          for problem in problems.problems {
            try tell(
              Finding(
                kind: "problem", message: problem.message, file: problem.file, line: problem.mark.line,
                column: problem.mark.column))
          }
        } else {
          try tell(Finding(kind: "problem", message: "\(error)"))
        }
        throw ExitStatus.badConfiguration
      }
    }
  }
}
