import ArgumentParser
internal import ControlServer
import FoundationEssentials
import Glibc
internal import LiveUpgrade
import RelayConfig
internal import RelayHome
import RelayJSON
internal import RelayModel
import RelayTransport

struct UpgradeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upgrade",
    abstract: "Replace the daemon that runs with this program, without interrupting sessions and plugins.",
    discussion:
      "Install the new version, then run its `pi-relayd upgrade`. Where the daemon cannot be replaced, the command says "
      + "why, and the daemon continues as before.")

  @Option(help: ArgumentHelp("The pi-relayd to upgrade to; by default the program of this command.", valueName: "path"))
  var program: String?

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    try await Replacement(surroundings, failure: "not upgraded").run(
      program ?? surroundings.programs + "/pi-relayd")
  }
}

struct Restart: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Restart the daemon without interrupting sessions and plugins; start it if none runs.")

  @Flag(help: "Stop the daemon with its sessions and plugins first, and start it in the background.") var full = false

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    let runs = surroundings.connect() != nil
    if runs, !full {
      let replacement = Replacement(surroundings, failure: "not restarted")
      return try await replacement.run(surroundings.programs + "/pi-relayd")
    }
    if runs { try await Stop.stop(surroundings) }
    try await DetachedDaemon(surroundings).start()
    print("pi-relayd is running again.")
  }
}

/// Asked of a new version by the one that runs.
struct UpgradeCheck: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upgrade-check", abstract: "Print the formats that this version can take over.", shouldDisplay: false)

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    do {
      _ = try ConfigReader(environment: surroundings.environment).load(surroundings.home.configurationCandidates)
    } catch {
      StandardError.say("\(error)")
      throw ExitStatus.badConfiguration
    }
    print(String(decoding: try JSONCoding.encode(Handover.Compatibility.own, sorted: true), as: UTF8.self))
  }
}

/// The replacement of the running program by another.
private struct Replacement {
  private let surroundings: CommandLineEnvironment
  /// The first words where the daemon is not replaced.
  private let failure: String

  init(_ surroundings: CommandLineEnvironment, failure: String) {
    self.surroundings = surroundings
    self.failure = failure
  }

  /// How long the new program may take to answer.
  private static let limit: Duration = .seconds(20)

  func run(_ program: String) async throws {
    let before = try await surroundings.ask(ControlStatus())
    guard let peer = surroundings.connect() else { throw ExitStatus.notRunning }
    defer { peer.close() }
    do {
      let reply = try await peer.request(ControlUpgrade(program: program), within: .seconds(40))
      StandardError.say("pi-relayd: \(failure): \(reply.problem)")
      throw ExitStatus.failed
    } catch ConnectionError.closed {
      // It has become the new program.
    } catch let error as ConnectionError {
      StandardError.say("pi-relayd: \(failure): \(DaemonFailure(error, surroundings))")
      throw ExitStatus.failed
    }
    let after = try await waitForNext(after: before)
    let kept = after.sessions.count { session in
      session.pid != nil && before.sessions.contains { $0.pid == session.pid }
    }
    print("pi-relayd \(after.version) continues (pid \(after.pid)); \(kept) running agent(s) were kept.")
  }

  private func waitForNext(after before: DaemonStatus) async throws -> DaemonStatus {
    let deadline = ContinuousClock.now + Self.limit
    while ContinuousClock.now < deadline {
      if let peer = surroundings.connect() {
        defer { peer.close() }
        let status = try? await peer.request(ControlStatus(), within: .seconds(5))
        if let status, status.upgrades > before.upgrades || status.pid != before.pid { return status }
      } else if !DaemonLock.isHeld(surroundings.home) {
        StandardError.say("pi-relayd: the new program did not take over; see \(surroundings.home.daemonLog).")
        try await DetachedDaemon(surroundings).start()
        StandardError.say("A new daemon was started in the background; it continues from the stored state.")
        throw ExitStatus.failed
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    StandardError.say("pi-relayd: the new program does not answer; see \(surroundings.home.daemonLog)")
    throw ExitStatus.failed
  }
}
