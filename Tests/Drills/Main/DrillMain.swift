import ArgumentParser
import Drills
import Glibc
import TestSupport

@main
struct DrillMain: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pi-relay-drill", abstract: "Breaks pi-relay in every way we can think of, and counts what is lost.",
    subcommands: [Kill.self, Model.self, Soak.self, AtDiscord.self])
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
    let folder = try TemporaryFolder()
    let library = await boundaryCounter(in: folder)
    let campaign = KillCampaign(count: count, messages: messages, seed: seed, jobs: jobs, library: library)
    say("seed \(seed), \(count) kills, 4 x \(messages) messages each")
    let total = try await campaign.run { say($0) }
    say("\(total)")
    if !total.isSound { throw ExitCode.failure }
  }
}

struct Model: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Goes on random walks and judges each message by the daemon's own state machine.")

  @Option(help: "How many walks.") var count = 1_000
  @Option(help: "Of the first walk; each that follows has the next.") var seed = UInt64.random(in: 1...999_999)
  @Option(help: "Walks at the same time.") var jobs = 4

  func run() async throws {
    let folder = try TemporaryFolder()
    say("\(count) walks, seeds \(seed) to \(seed + UInt64(count) - 1); \(ModelDrill.restart)")
    let drill = ModelDrill(library: try await Interposer.build(in: folder.path))
    let failures = try await drill.run(count: count, seed: seed, jobs: jobs) { say($0) }
    say("\(count) walks, \(failures.count) failed")
    if !failures.isEmpty { throw ExitCode.failure }
  }
}

struct Soak: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "A hundred conversations and a crash a second: what is used must stay flat.")

  @Option(help: "How long.") var minutes = 10
  @Option(help: "How many conversations.") var conversations = 100

  func run() async throws {
    say(
      "\(conversations) conversations for \(minutes) min; sessions: {\(SoakDrill.sessions)}; \(ModelDrill.restart); "
        + "storage: {keepDays: \(SoakDrill.keepDays)}")
    let drill = SoakDrill(conversations: conversations, duration: .seconds(60 * minutes), interval: .seconds(15))
    let report = try await drill.run { say($0) }
    for problem in report.problems { say("FAILED \(problem)") }
    if !report.problems.isEmpty { throw ExitCode.failure }
    say("memory, descriptors and database are flat, nothing was lost")
  }
}

struct AtDiscord: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discord",
    abstract: "Kills every program, the Discord plugin among them, and breaks the connection, at a Discord of its own.")

  @Option(help: "How many kills.") var count = 200
  @Option(help: "The same seed chooses the same victims and moments.") var seed = UInt64.random(in: 1...999_999)

  func run() async throws {
    guard PythonServer.isThere else {
      say("the fake Discord needs scripts/setup-peers")
      throw ExitCode.failure
    }
    let folder = try TemporaryFolder()
    let library = await boundaryCounter(in: folder)
    say("seed \(seed), \(count) kills; \(ModelDrill.restart)")
    let account = try await DiscordDrill(kills: count, seed: seed, library: library).run { say($0) }
    for problem in account.problems { say("FAILED \(problem)") }
    say("\(account)")
    if !account.isSound { throw ExitCode.failure }
  }
}

/// Builds the library that counts boundaries; `nil` where there is no compiler.
private func boundaryCounter(in folder: TemporaryFolder) async -> String? {
  do { return try await Interposer.build(in: folder.path) } catch {
    say("boundaries cannot be counted, so programs are killed at random instants only: \(error)")
    return nil
  }
}

/// At once, into a pipe too: a drill takes long.
private func say(_ text: String) {
  print(text)
  fflush(nil)
}
