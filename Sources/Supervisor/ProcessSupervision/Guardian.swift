internal import CLinux
internal import Glibc
package import Logging
internal import RelayConcurrency
internal import RelayTransport

/// The small process that ends the daemon's children when the daemon is gone, also by `kill -9`.
///
/// A parent-death signal does not serve: it is bound to the thread that forked, and it fires on re-execution.
package final class Guardian: Sendable {
  /// Mark in the environment of every child, by which its descendants are found.
  package let marker: String
  package static let markerName = "PI_RELAY_DAEMON"

  private struct State {
    var outbox: Outbox?
    var process: ChildProcess?
    var children: [Int32: UInt64] = [:]
    var stopping = false
    /// Exits in a row, without a run of some length between them.
    var ends = 0
    var began = ContinuousClock.now
  }

  private let path: String
  private let identity: String
  private let endsLeftovers: Bool
  private let state = Locked(State())
  private let logger: Logger

  /// - Parameters:
  ///   - path: the guardian's executable.
  ///   - identity: unique to this daemon, its upgrades included.
  package init(path: String, identity: String, endsLeftovers: Bool, logger: Logger) {
    self.path = path
    self.identity = identity
    self.endsLeftovers = endsLeftovers
    self.logger = logger
    marker = "\(Self.markerName)=\(identity)"
  }

  /// Starts it, and again whenever it ends before `stop`.
  package func start() throws(SpawnError) {
    let request = ChildProcess.Request(name: "guardian", path: path, environment: [:])
    let (child, pipes) = try ChildProcess.spawn(request, guardian: nil)
    _ = close(pipes.output)
    _ = close(pipes.error)
    let outbox = Outbox(descriptor: pipes.input, limit: 1 << 20)
    let (known, old) = state.withLock { state in
      defer {
        state.outbox = outbox
        state.process = child
        state.began = .now
      }
      return (state.children, state.outbox)
    }
    old?.abandon()
    say("marker \(marker)")
    say("leftovers \(endsLeftovers ? "kill" : "keep")")
    for (pid, start) in known { say("+ \(pid) \(start)") }
    child.onExit { [weak self] exit in self?.restart(after: exit) }
  }

  /// The guardian's process and pipe, for the next program of this process.
  package struct Snapshot: Codable, Sendable {
    var process: ChildProcess.Snapshot
    package var input: Int32
    package var identity: String
  }

  /// `nil` while it is being started again, or has more to read.
  package var handover: Snapshot? {
    state.withLock { state in
      guard let process = state.process, !process.hasEnded, let input = state.outbox?.idleDescriptor else { return nil }
      return Snapshot(process: process.handover, input: input, identity: identity)
    }
  }

  /// Continues with the guardian of this process's predecessor; it knows the children.
  package func adopt(_ handover: Snapshot) throws(SpawnError) {
    let process = try ChildProcess.adopt(handover.process, guardian: nil)
    state.withLock { state in
      state.process = process
      state.outbox = Outbox(descriptor: handover.input, limit: 1 << 20)
    }
    process.onExit { [weak self] exit in self?.restart(after: exit) }
  }

  /// So many short runs in a row mean that it cannot run here.
  private static let maximumQuickEnds = 5
  private static let quickEnd: Duration = .seconds(60)

  private func restart(after exit: TerminationStatus) {
    let (stopping, ends) = state.withLock { state in
      state.ends = ContinuousClock.now - state.began < Self.quickEnd ? state.ends + 1 : 1
      return (state.stopping, state.ends)
    }
    guard !stopping else { return }
    guard ends <= Self.maximumQuickEnds else {
      logger.error(
        "the guardian exited \(ends) times in a row and is not started again; if the daemon crashes, its children keep running"
      )
      return
    }
    logger.warning("the guardian ended with \(exit) and is started again")
    startAgain()
  }

  private func startAgain() {
    do {
      try start()
    } catch {
      if case .postponed = error { return SpawnGate.shared.whenOpen { [weak self] in self?.startAgain() } }
      logger.error(
        "the guardian could not be started again; if the daemon crashes, its children keep running: \(error)")
    }
  }

  package func record(_ child: ChildProcess) {
    state.withLock { $0.children[child.pid] = child.startTime }
    say("+ \(child.pid) \(child.startTime)")
  }

  package func forget(_ child: ChildProcess) {
    state.withLock { _ = $0.children.removeValue(forKey: child.pid) }
    say("- \(child.pid)")
  }

  /// Lets it go, as on our own orderly end.
  package func stop() {
    let outbox = state.withLock { state in
      state.stopping = true
      return state.outbox
    }
    outbox?.finish()
  }

  /// Ends what a session left behind outside its own group: everything with our marker and the session's.
  package func endLeftovers(of sessionMarker: String, signal: Int32) -> Int {
    Int(relay_signal_marked(sessionMarker, signal, getpid()))
  }

  private func say(_ line: String) {
    guard let outbox = state.withLock({ $0.outbox }) else { return }
    do {
      try outbox.send(Array((line + "\n").utf8))
    } catch {
      // It has ended; `restart` says so and repeats everything to the next one.
    }
  }
}
