internal import Logging
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayHome
package import RelayModel
internal import RelayStore
internal import RelayTransport
internal import RelayWire

/// Keeps one plugin running: starts, greets, serves and watches its process, and starts it again when it exits.
///
/// `PluginLifecycle` decides; this actor carries out.
package actor PluginSupervisor {
  package nonisolated let name: String
  private let dependencies: PluginDependencies
  private let logger: Logger
  private var specification: PluginSpecification
  private var lifecycle: PluginLifecycle
  private var process: PluginProcess?
  /// Inherited across `exec`, and not continued with yet.
  private var adopted: PluginSnapshot?
  /// The last process that introduced itself.
  private var about: InitializeReply?
  private var lastChange = 0
  /// Wakes `run` from a pause: an event, or `nil` to look at the state again.
  private let signals = Mailbox<PluginLifecycle.Event?>(merge: { $0 == $1 })
  private var completion = Completion.pending([])

  private enum Completion {
    case pending([CheckedContinuation<Void, Never>])
    case done
  }

  /// Time that a plugin has to answer `initialize`.
  package static let handshakeLimit: Duration = .seconds(10)

  package init(
    _ specification: PluginSpecification, _ dependencies: PluginDependencies, adopting adopted: PluginSnapshot? = nil
  ) {
    self.adopted = adopted
    name = specification.name
    self.specification = specification
    self.dependencies = dependencies
    logger = dependencies.logger(of: specification.name)
    let now = dependencies.timeSource.now()
    lifecycle =
      if let adopted {
        PluginLifecycle(
          adopting: adopted.history, restarts: adopted.restarts, policy: dependencies.restart, at: now)
      } else {
        PluginLifecycle(policy: dependencies.restart, at: now)
      }
  }

  package func report() -> PluginStatus {
    PluginStatus(
      name: name, state: lifecycle.reported(isConnected: process?.link != nil), path: specification.executable.path,
      version: about?.version, kinds: about?.kinds.map(\.rawValue), pid: process?.child.pid,
      since: Double((dependencies.timeSource.now() - lifecycle.since).components.seconds),
      restarts: lifecycle.restarts, problem: process?.link?.problem ?? lifecycle.problem)
  }

  // MARK: - Requests

  /// Runs another executable or other settings from now on. The present process is shut down first.
  ///
  /// - Parameter change: the number of this request; a request with a lower number than the last is out of date.
  package func replace(with new: PluginSpecification, change: Int) async {
    guard change > lastChange else { return }
    lastChange = change
    guard new != specification else { return }
    specification = new
    await restart()
  }

  /// Ends the present process in good order, and begins another at once.
  package func restart() async { await request(.restart) }

  /// Ends it for good; `run` returns.
  package func stop() async { await request(.stop) }

  private func request(_ event: PluginLifecycle.Event) async {
    let process = process
    await perform(handle(event))
    // Another request may have begun to end it.
    if let process { _ = await process.child.exit() }
  }

  /// Lets the machine decide, and logs a change of its state.
  private func handle(_ event: PluginLifecycle.Event) -> [PluginLifecycle.Action] {
    let before = lifecycle.state
    let actions = lifecycle.handle(event, at: dependencies.timeSource.now())
    if lifecycle.state != before { logger.debug("\(before) → \(lifecycle.state)") }
    return actions
  }

  private func perform(_ actions: [PluginLifecycle.Action]) async {
    for action in actions {
      switch action {
      case .wake: signals.post(nil)
      case .saveBackoff(let backoff): dependencies.store.scheduleSaveBackoff(backoff, of: name)
      case .end(let reason): if let process { await process.end(reason, clock: dependencies.timeSource.clock) }
      }
    }
  }

  /// Waits until `run` has returned.
  package func ended() async {
    await withCheckedContinuation { continuation in
      switch completion {
      case .pending(let waiters): completion = .pending(waiters + [continuation])
      case .done: continuation.resume()
      }
    }
  }

  // MARK: - The loop of processes

  /// Runs until `stop`.
  package func run() async {
    if adopted == nil { await restoreBackoff() }
    /// The plugin that sleeps. The router may call it, and is told of its end only here.
    var asleep: PluginConnection?
    loop: while !Task.isCancelled {
      switch lifecycle.state {
      case .starting:
        switch await runOnce() {
        case .notConnected: break
        case .disconnected: asleep = nil
        case .asleep(let link): asleep = link
        }
      case .backoff(let pause): await wait(until: pause.until)
      case .asleep: await wait(until: nil)
      case .stopped: break loop
      case .handshaking, .running, .stopping: preconditionFailure("\(name) ended without an event")
      }
    }
    _ = handle(.stop)
    if let asleep { await dependencies.audience.disconnected(asleep) }
    if case .pending(let waiters) = completion { for waiter in waiters { waiter.resume() } }
    completion = .done
  }

  /// Restores the backoff of an earlier daemon: a plugin that exits again and again must wait as before.
  private func restoreBackoff() async {
    let generation = lifecycle.generation
    do {
      guard let backoff = try await dependencies.store.backoff(of: name) else { return }
      _ = handle(.heldBack(backoff, generation))
    } catch {
      logger.error("the wait before its next start could not be read: \(error)")
    }
  }

  /// Waits for the time, or for a signal before it.
  private func wait(until time: Duration?) async {
    let timeSource = dependencies.timeSource
    let due = PluginLifecycle.Event.due(lifecycle.generation)
    let event: PluginLifecycle.Event?
    if let time, time <= timeSource.now() {
      event = due
    } else {
      event = await withTaskGroup(of: PluginLifecycle.Event?.self) { [signals] group in
        group.addTask { await signals.next() ?? nil }
        if let time { group.addTask { await timeSource.sleep(for: time - timeSource.now()) ? due : nil } }
        defer { group.cancelAll() }
        return await group.next() ?? nil
      }
    }
    if let event { await perform(handle(event)) }
  }

  private enum Run {
    /// It did not come to a handshake that succeeded.
    case notConnected
    /// The router knows that it is gone.
    case disconnected
    /// The router may still call it.
    case asleep(PluginConnection)
  }

  /// Starts one process, or adopts it, and returns when it has ended.
  private func runOnce() async -> Run {
    await SpawnGate.shared.wait()
    guard case .starting = lifecycle.state else { return .notConnected }
    let generation = lifecycle.generation
    let snapshot = adopted
    adopted = nil
    let launch = PluginLaunch(
      specification: specification, dependencies: dependencies, handshakeLimit: Self.handshakeLimit)
    let process: PluginProcess
    do {
      process = try launch.start(adopting: snapshot)
    } catch SpawnError.postponed {
      return .notConnected
    } catch {
      conclude(.failed("\(error)", worked: false), generation)
      return .notConnected
    }
    self.process = process
    _ = handle(.spawned(generation))
    switch await launch.connect(process, adopting: snapshot) {
    case .connected(let link, let problem): return await serve(link, process, problem: problem, generation)
    case .failed(let ending):
      conclude(ending, generation)
      return .notConnected
    }
  }

  /// Passes its requests on until it has ended.
  private func serve(_ link: PluginConnection, _ process: PluginProcess, problem: String?, _ generation: Int) async
    -> Run
  {
    process.link = link
    about = link.about
    _ = link.note(problem)
    let actions = handle(.connected(generation))
    let audience = dependencies.audience
    await audience.connected(link)
    let service = PluginService(
      link: link, process: process, audience: audience, timeSource: dependencies.timeSource)
    let why = await service.run(
      // From the question on it may be called, before it has ended even.
      needed: { [signals] in signals.post(.needed(generation)) }, idle: { [self] in await endIdle(generation) },
      meanwhile: { [self] in await perform(actions) })
    process.peer.close()
    await process.child.tearDown([], clock: dependencies.timeSource.clock)
    let sleeps = lifecycle.state == .stopping(.idle)
    // A plugin that sleeps can still be called.
    if !sleeps { await audience.disconnected(link) }
    conclude(.failed(why, worked: link.hasWorked), generation)
    return lifecycle.state == .asleep ? .asleep(link) : .disconnected
  }

  private func endIdle(_ generation: Int) async {
    await perform(handle(.idle(generation)))
  }

  /// Records the end of the process, and logs it unless it was asked for.
  private func conclude(_ ending: PluginLifecycle.Ending, _ generation: Int) {
    var ending = ending
    if case .failed(let why, let worked) = ending, let line = process?.output.lastLine {
      ending = .failed("\(why); the last line of its log: \(line)", worked: worked)
    }
    process = nil
    let actions = handle(.ended(ending, random: Double.random(in: 0...1), generation))
    for case .saveBackoff(let backoff) in actions { dependencies.store.scheduleSaveBackoff(backoff, of: name) }
    guard case .backoff(let pause) = lifecycle.state else { return }
    switch pause.cause {
    case .restart, .failing:
      let delay = pause.until.map { $0 - lifecycle.since } ?? .zero
      let when = delay == .zero ? "at once" : "in \(delay.forPeople)"
      logger.warning("\(pause.problem); it is started again \(when)")
    case .misconfigured: logger.error("\(pause.problem)")
    case .unconfigured: break
    }
  }

  // MARK: - Upgrade

  enum SnapshotResult: Sendable {
    case notRunning
    case ready(PluginSnapshot)
    case busy
  }

  /// Hears nothing more of it until `resume`.
  func takeSnapshot() async -> SnapshotResult {
    guard let process else { return adopted == nil ? .notRunning : .busy }
    guard let link = process.link, let peer = await process.peer.hold(),
      let (errors, heldErrors) = await process.log.hold(), self.process === process, !process.child.hasEnded
    else { return .busy }
    return .ready(
      PluginSnapshot(
        name: name, child: process.child.handover, peer: peer, errors: errors, heldErrors: heldErrors,
        about: link.about, lifeMarker: process.marker, executable: specification.executable.stamp,
        settings: specification.settings, restarts: lifecycle.restarts,
        history: lifecycle.historyForHandover(at: dependencies.timeSource.now()), problem: report().problem))
  }

  func resume() {
    process?.peer.resume()
    process?.log.resume()
  }
}
