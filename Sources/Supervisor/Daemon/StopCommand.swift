import ArgumentParser
internal import ControlServer
import RelayConcurrency
import RelayConfig
internal import RelayHome
import RelayTransport

struct Stop: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Stop the daemon.", discussion: "Answers in progress get the time that `shutdown.drainSeconds` grants.")

  @Option(
    help: ArgumentHelp(
      "How long to wait for the daemon's end; by default \"shutdown.drainSeconds\" and a minute more.",
      valueName: "seconds"))
  var timeout: Int?

  func validate() throws {
    if let timeout, timeout < 1 { throw ValidationError("--timeout is a number of seconds, at least 1") }
  }

  func run() async throws {
    for line in try await Self.stop(CommandLineEnvironment(), within: timeout.map { .seconds($0) }) { print(line) }
    print("pi-relayd has stopped.")
  }

  /// Asks the daemon to stop and waits until it has.
  ///
  /// - Parameter limit: the time to wait; `nil` for the longest time that an orderly stop takes.
  /// - Returns: the work that it left, in words.
  @discardableResult
  static func stop(_ surroundings: CommandLineEnvironment, within limit: Duration? = nil) async throws -> [String] {
    // A configuration that cannot be read says nothing about the daemon that runs.
    let reader = ConfigReader(environment: surroundings.environment)
    let config = (try? reader.load(surroundings.home.configurationCandidates))?.config ?? Config()
    let limit = limit ?? config.shutdown.maximumDuration
    do {
      return try await withDeadline(limit, clock: ContinuousClock()) { try await waitForStop(surroundings) }
    } catch is DeadlineExceeded {
      throw surroundings.fail(DaemonFailure(notStoppedWithin: limit, surroundings))
    }
  }

  private static func waitForStop(_ surroundings: CommandLineEnvironment) async throws -> [String] {
    var parked: [String]?
    for round in 0..<rounds {
      guard let peer = surroundings.connect() else {
        if round > 0 { break }
        StandardError.say("No pi-relayd runs for \(surroundings.home.path).")
        throw ExitStatus.notRunning
      }
      defer { peer.close() }
      parked = try await order(peer, surroundings)
      if parked != nil { break }
      // It ended in another way, or has become another program that knows nothing of this.
      try await Task.sleep(for: .milliseconds(100))
    }
    if parked == nil, let peer = surroundings.connect() {
      peer.close()
      StandardError.say("pi-relayd does not take the order to stop; see \(surroundings.home.daemonLog)")
      throw ExitStatus.failed
    }
    while DaemonLock.isHeld(surroundings.home) { try await Task.sleep(for: .milliseconds(5)) }
    return parked ?? []
  }

  private static let rounds = 5

  /// Answers what the daemon left; nil when the connection ended before it said so.
  private static func order(_ peer: JSONRPCConnection, _ surroundings: CommandLineEnvironment) async throws -> [String]?
  {
    do {
      // Comes when all is done, which takes as long as running answers are waited for.
      let parked = try await peer.request(ControlStop(), within: nil).parked ?? []
      // The connection ends when the daemon does; the lock is let go a moment later.
      for await _ in peer.requests {}
      return parked
    } catch {
      switch error {
      case .closed, .notSent: return nil
      default: throw surroundings.fail(DaemonFailure(error, surroundings))
      }
    }
  }
}
