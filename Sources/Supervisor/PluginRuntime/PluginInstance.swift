internal import Glibc
package import ProcessSupervision
package import RelayConcurrency
package import RelayConfig
package import RelayHome
package import RelayLogging
package import RelayModel
package import RelayStore
internal import RelayTransport
package import RelayWire

/// What an instance is to run. A change of any part means a new life.
package struct PluginSpecification: Sendable, Equatable {
  /// `formatter`, `discord/work`.
  package var name: String
  package var executable: DiscoveredPlugin
  package var settings: JSONValue
  /// False when the configuration does not mention it.
  package var isConfigured: Bool
  package var messenger: Config.Messenger?
}

/// What all instances share.
package struct PluginDependencies: Sendable {
  package var folders: Folders
  package var guardian: Guardian?
  package var environment: [String: String]
  package var store: any Store
  package var timekeeper: Timekeeper
  package var restart: RestartPolicy
  package var logLimits: LogFile.Limits
  package var audience: any PluginAudience
  package var log: @Sendable (String) -> Void
  /// Where in the configuration file a setting of an instance stands.
  package var locate: @Sendable (_ instance: String, _ path: String) -> String? = { _, _ in nil }

  package init(
    folders: Folders, guardian: Guardian? = nil, environment: [String: String], store: any Store,
    timekeeper: Timekeeper, restart: RestartPolicy, logLimits: LogFile.Limits, audience: any PluginAudience,
    log: @escaping @Sendable (String) -> Void,
    locate: @escaping @Sendable (_ instance: String, _ path: String) -> String? = { _, _ in nil }
  ) {
    self.folders = folders
    self.guardian = guardian
    self.environment = environment
    self.store = store
    self.timekeeper = timekeeper
    self.restart = restart
    self.logLimits = logLimits
    self.audience = audience
    self.log = log
    self.locate = locate
  }
}

/// One plugin, kept running: started, greeted, served, watched, ended, and started again when it ends by itself.
package actor PluginInstance {
  package nonisolated let name: String
  var specification: PluginSpecification
  let dependencies: PluginDependencies
  private var history: RestartPolicy.History
  var status: PluginStatus
  private var stateSince: Duration
  var life: Life?
  /// What the program that this process was before had running.
  var adopted: PluginHandover?
  /// Wakes the loop: a new specification, a wish to restart, or the end.
  let wakes = Mailbox<Void>(merge: { _, _ in true })
  private(set) var stopping = false
  private(set) var replacing = false
  var isFallingAsleep = false
  private var lastChange = 0
  /// The last lines on standard error, for messages.
  let lastWords = Locked<[String]>([])

  /// One life of its process.
  final class Life: Sendable {
    let child: ChildProcess
    let peer: JSONRPCConnection
    let log: LineReader
    let marker: String
    /// Its first line that is none of the protocol.
    let junk: Locked<String?>
    /// Once it has shaken hands.
    private let stored = Locked<PluginLink?>(nil)
    private let stopped = Locked<String?>(nil)

    init(child: ChildProcess, peer: JSONRPCConnection, log: LineReader, marker: String, junk: Locked<String?>) {
      self.junk = junk
      self.child = child
      self.peer = peer
      self.log = log
      self.marker = marker
    }

    var link: PluginLink? {
      get { stored.withLock { $0 } }
      set { stored.withLock { $0 = newValue } }
    }

    /// Kills it; the first reason stands.
    func stop(because why: String) {
      stopped.withLock { $0 = $0 ?? "\(why), and was stopped" }
      child.signal(SIGKILL)
    }

    /// Waits for the end of a process whose output has ended, and tells how it came: by itself or by us.
    func explainEnd(within limit: Duration, clock: any Clock<Duration>) async -> String {
      if let exit = await child.exit(within: limit, clock) { return stopped.withLock { $0 } ?? "it ended with \(exit)" }
      stop(because: "it closed its standard output")
      _ = await child.exit()
      return stopped.withLock { $0 } ?? ""
    }
  }

  /// Time a plugin has to answer `initialize`.
  package static let handshakeLimit: Duration = .seconds(10)
  /// Silence after which a plugin is pinged, and how long it may take to answer.
  static let quietLimit: Duration = .seconds(15)
  static let pingLimit: Duration = .seconds(10)
  static let shutdownLimit: Duration = .seconds(5)
  /// After which one that runs on demand is ended. Shorter than `quietLimit`: pings are heard, too.
  static let idleLimit: Duration = .seconds(10)
  /// Breaches of the protocol that are logged of one life.
  static let mostViolationsTold = 20

  package init(
    _ specification: PluginSpecification, _ dependencies: PluginDependencies, adopting adopted: PluginHandover? = nil
  ) {
    self.adopted = adopted
    name = specification.name
    self.specification = specification
    self.dependencies = dependencies
    status = PluginStatus(
      name: specification.name, state: .starting, path: specification.executable.path,
      restarts: adopted?.restarts ?? 0)
    stateSince = dependencies.timekeeper.now()
    history = adopted?.history?.flipped(at: stateSince) ?? RestartPolicy.History()
  }

  /// What the next program is to know of earlier ends; its clock may begin anew. It does not know how long this life has
  /// been well.
  var historyForHandover: RestartPolicy.History? {
    let now = dependencies.timekeeper.now()
    return now - stateSince < dependencies.restart.healthyAfter ? history.flipped(at: now) : nil
  }

  package func report() -> PluginStatus {
    var report = status
    report.pid = life?.child.pid
    report.problem = life?.link?.problem ?? status.problem
    report.since = Double((dependencies.timekeeper.now() - stateSince).components.seconds)
    return report
  }

  func enter(_ state: PluginStatus.State, problem: String? = nil) {
    status.state = state
    status.problem = problem
    stateSince = dependencies.timekeeper.now()
  }

  // MARK: - Wishes from outside

  /// Runs something else from now on. The present life is ended in good order first.
  ///
  /// - Parameter change: the number of this wish; one that comes after a later one is out of date.
  package func replace(with new: PluginSpecification, change: Int) async {
    guard change > lastChange else { return }
    lastChange = change
    guard new != specification else { return }
    specification = new
    status.path = new.executable.path
    await restart()
  }

  func forgetFailures() {
    guard history.failures > 0 else { return }
    history = RestartPolicy.History()
    dependencies.store.saveBackoffSoon(nil, of: name)
  }

  /// Ends the present life in good order and begins another at once.
  package func restart() async {
    forgetFailures()
    replacing = true
    if let life { await end(life, reason: "replaced") }
    wakes.post(())
  }

  /// The same for one that has only just been gone on with.
  func restartOnceRunning() async {
    let timekeeper = dependencies.timekeeper
    while life?.link == nil, !stopping { guard await timekeeper.sleep(for: .milliseconds(10)) else { return } }
    await restart()
  }

  /// Ends it for good; `run` returns.
  package func stop() async {
    stopping = true
    wakes.post(())
    if let life { await end(life, reason: "stopped") }
  }

  func end(_ life: Life, reason: String) async {
    if let link = life.link {
      // A refusal or a silence changes nothing: what follows ends it anyway.
      _ = try? await link.request(Shutdown(reason: reason), within: Self.shutdownLimit)
    }
    life.peer.finish()
    await life.child.tearDown(
      [.wait(.seconds(2)), .terminate(then: .seconds(2))], clock: dependencies.timekeeper.clock)
  }

  // MARK: - The loop of lives

  /// Runs until `stop`.
  package func run() async {
    if adopted == nil { await waitOut() }
    while !stopping, !Task.isCancelled {
      replacing = false
      let began = dependencies.timekeeper.now()
      let ending = await live()
      if stopping || Task.isCancelled { break }
      if case .postponed = ending { continue }
      if replacing { continue }
      if case .asleep(let link) = ending {
        await sleep(link)
        continue
      }
      let delay = decide(ending, uptime: dependencies.timekeeper.now() - began)
      await pause(delay)
    }
    enter(.stopped)
    hasRun = true
    for waiter in endWaiters { waiter.resume() }
    endWaiters = []
  }

  /// What a restart of the daemon must not wipe away: a plugin that ends again and again is held back as before.
  private func waitOut() async {
    do {
      guard let backoff = try await dependencies.store.backoff(of: name) else { return }
      history.failures = backoff.failures
      let wait = min(backoff.wait, dependencies.restart.longestDelay)
      guard wait > .zero else { return }
      enter(.waiting, problem: "it failed \(backoff.failures) times before pi-relayd was started")
      await pause(wait)
    } catch {
      dependencies.log("\(name): how it was held back could not be read: \(error)")
    }
  }

  private var hasRun = false
  private var endWaiters: [CheckedContinuation<Void, Never>] = []

  /// Waits until `run` has returned, or never will begin.
  package func ended() async {
    guard !hasRun else { return }
    await withCheckedContinuation { endWaiters.append($0) }
  }

  enum Ending: Sendable {
    /// It is to be started again. The words say what happened: not every plugin that does not run has ended by itself.
    case failed(String, worked: Bool)
    /// It has not begun: the daemon was about to become another program.
    case postponed
    /// Nobody needs it.
    case asleep(PluginLink)
    /// Nothing will be different before the configuration or the file is.
    case misconfigured(String)
    case unconfigured(String)
  }

  /// How long to wait; nil means until woken.
  private func decide(_ ending: Ending, uptime: Duration) -> Duration? {
    switch ending {
    case .postponed, .asleep: return .zero
    case .unconfigured(let problem):
      enter(.unconfigured, problem: problem)
      return nil
    case .misconfigured(let problem):
      dependencies.log("\(name): \(problem)")
      enter(.misconfigured, problem: problem)
      return nil
    case .failed(let why, let worked):
      status.restarts += 1
      let decision = dependencies.restart.next(
        &history, now: dependencies.timekeeper.now(), uptime: uptime, worked: worked,
        random: Double.random(in: 0...1))
      dependencies.store.saveBackoffSoon(
        history.failures > 1 ? Backoff(failures: history.failures, wait: decision.delay) : nil, of: name)
      let words = lastWords.withLock { $0.last }.map { "; the last line of its log: \($0)" } ?? ""
      dependencies.log(
        "\(name): \(why)\(words); it is started again "
          + (decision.delay == .zero ? "at once" : "in \(decision.delay.forPeople)"))
      enter(decision.failing ? .failing : .waiting, problem: why + words)
      return decision.delay
    }
  }

  private func pause(_ delay: Duration?) async {
    if delay == .zero || stopping || replacing { return }
    // Left over from a wish that the last life has fulfilled already.
    wakes.drain()
    let timekeeper = dependencies.timekeeper
    let wakes = wakes
    await withTaskGroup(of: Void.self) { group in
      group.addTask { _ = await wakes.next() }
      if let delay { group.addTask { _ = await timekeeper.sleep(for: delay) } }
      await group.next()
      group.cancelAll()
    }
  }
}
