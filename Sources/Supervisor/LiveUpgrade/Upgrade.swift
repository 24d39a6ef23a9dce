package import ControlServer
internal import Glibc
package import Logging
package import MessageRouting
package import PluginRuntime
package import ProcessSupervision
package import RelayConcurrency
package import RelayHome
internal import RelayJSON
internal import RelayWire
package import SessionCatalog

/// Lets another program take this daemon's place in the same process, with its children and pipes. Streams continue
/// without a gap that people notice.
package struct Upgrade: Sendable {
  private let lock: DaemonLock
  private let guardian: Guardian
  private let plugins: PluginRegistry
  private let sessions: SessionRegistry
  private let router: Router
  private let control: ControlServer
  /// How often this process has become another program.
  private let count: Int
  private let environment: [String: String]
  private let timeSource: TimeSource
  private let logger: Logger
  /// A daemon that was asked to stop does not become another program, which would not know.
  private let isStopping: @Sendable () -> Bool
  /// Returns when everything given to the store is on the disk.
  private let settle: @Sendable () async throws -> Void

  package init(
    lock: DaemonLock,
    guardian: Guardian,
    plugins: PluginRegistry,
    sessions: SessionRegistry,
    router: Router,
    control: ControlServer,
    count: Int,
    environment: [String: String],
    timeSource: TimeSource,
    logger: Logger,
    isStopping: @escaping @Sendable () -> Bool,
    settle: @escaping @Sendable () async throws -> Void
  ) {
    self.lock = lock
    self.guardian = guardian
    self.plugins = plugins
    self.sessions = sessions
    self.router = router
    self.control = control
    self.count = count
    self.environment = environment
    self.timeSource = timeSource
    self.logger = logger
    self.isStopping = isStopping
    self.settle = settle
  }

  /// How long the new program may take to say what it is.
  static let checkLimit: Duration = .seconds(10)
  /// How long a moment is waited for at which nothing is in the middle of anything.
  static let patience: Duration = .seconds(10)
  /// How long the children may be left unheard for one try; half of what a stream may be silent.
  static let tryLimit: Duration = .milliseconds(60)

  /// Replaces the program.
  ///
  /// - Returns: the reason when it is not possible; everything then continues as before.
  package func run(_ program: String) async -> Handover.Problem {
    do {
      try await check(program)
    } catch {
      logger.error("not upgraded: \(error)")
      return error
    }
    // Where nothing can be stored, the next program would miss what this one has acknowledged.
    do { try await settle() } catch { return Handover.Problem("nothing can be stored: \(error)") }
    logger.notice("upgrading to \(program)")
    let problem = await handOver(to: program)
    logger.error("not upgraded: \(problem)")
    return problem
  }

  private func check(_ program: String) async throws(Handover.Problem) {
    guard program.hasPrefix("/"), access(program, X_OK) == 0 else {
      throw Handover.Problem("\(program) is no executable; name it by its whole path")
    }
    let run: ProcessOutput
    do {
      run = try await ProcessOutput(
        .init(name: "check of \(program)", path: program, arguments: ["upgrade-check"], environment: environment),
        guardian: guardian, limit: Self.checkLimit, clock: timeSource.clock)
    } catch {
      throw Handover.Problem("\(program) cannot be run: \(error)")
    }
    guard run.exit == .exited(0) else {
      let words = run.errors.isEmpty ? "\(run.exit)" : run.errors.joined(separator: "\n")
      throw Handover.Problem("\(program) would not start: \(words)")
    }
    // Any other output means that it is no pi-relayd that can take over.
    guard let line = run.output.last,
      let new = try? JSONCoding.decode(Handover.Compatibility.self, from: Array(line.utf8))
    else { throw Handover.Problem("\(program) did not print its version; is it a pi-relayd?") }
    if let obstacle = Handover.Compatibility.own.obstacle(to: new) {
      throw Handover.Problem(
        "\(program) (\(new.version)): \(obstacle); use pi-relayd stop and start, which end running answers")
    }
  }

  private func handOver(to program: String) async -> Handover.Problem {
    let deadline = timeSource.now() + Self.patience
    while !isStopping() {
      // Closed for one try only: a plugin that crashes during the upgrade is restarted between two tries.
      SpawnGate.shared.close()
      let (handover, busy) = await hold()
      // A message sent from here on is found unsettled by the next program.
      let problem = isStopping() ? nil : handover?.execute(program)
      SpawnGate.shared.open()
      await plugins.resume()
      await router.resume()
      await sessions.resume()
      if let problem { return problem }
      guard timeSource.now() < deadline else {
        return Handover.Problem("\(busy ?? "something") is still busy; try again later, or stop pi-relayd and start it")
      }
      guard await timeSource.sleep(for: .milliseconds(20)) else { break }
    }
    return Handover.Problem("pi-relayd is stopping")
  }

  /// Nothing is read any more, and nothing is being done: only then there is something to hand over.
  private func hold() async -> (Handover?, busy: String?) {
    let began = timeSource.now()
    var busy: String?
    repeat {
      let (before, busySession) = await sessions.hold()
      let (conversations, busyConversation) = before == nil ? (nil, nil) : await router.hold()
      let (plugins, busyPlugin) = conversations == nil ? (nil, nil) : await plugins.hold()
      busy = busySession ?? busyConversation ?? busyPlugin
      // The last request of a plugin may have begun something, in a session too: only the present state is handed over.
      if let plugins, let guardian = guardian.handover, await isAtRest(),
        case (let sessions?, _) = await sessions.hold(), case (let router?, _) = await router.hold()
      {
        return (
          Handover(
            count: count + 1, lock: lock.handover, listener: control.handover, guardian: guardian, plugins: plugins,
            sessions: sessions, router: router), nil
        )
      }
      guard await timeSource.sleep(for: .milliseconds(1)) else { break }
    } while timeSource.now() - began < Self.tryLimit
    return (nil, busy)
  }

  private func isAtRest() async -> Bool {
    // A failure is reported when the wait is over; the store was well when it began.
    do { try await settle() } catch { return false }
    return true
  }
}
