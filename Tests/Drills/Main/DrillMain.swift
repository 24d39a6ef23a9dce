import ArgumentParser
import Drills
import Glibc
import TestSupport

@main
struct DrillMain: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pi-relay-drill", abstract: "Breaks pi-relay in every way we can think of, and counts what is lost.",
    subcommands: [Kill.self], defaultSubcommand: Kill.self)
}

struct Kill: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Kills one program after another with SIGKILL in the middle of a scripted day.")

  @Option(help: "How many kills.")
  var count = 500
  @Option(help: "Messages of each of the four conversations.")
  var messages = 50
  @Option(help: "The same seed chooses the same victims and moments.")
  var seed = UInt64.random(in: 1...999_999)
  @Option(help: "Days that are lived at the same time.")
  var jobs = 4

  func run() async throws {
    // A messenger's pipe ends when the drill kills it.
    signal(SIGPIPE, SIG_IGN)
    let folder = try TemporaryFolder()
    let campaign = try await KillCampaign(
      count: count, messages: messages, seed: seed, jobs: jobs, library: Interposer.build(in: folder.path))
    say("seed \(seed), \(count) kills, 4 x \(messages) messages each")
    let total = try await campaign.run { say($0) }
    say("\(total)")
    if !total.isSound { throw ExitCode.failure }
  }
}

/// At once, into a pipe too: a drill takes long.
private func say(_ text: String) {
  print(text)
  fflush(nil)
}
