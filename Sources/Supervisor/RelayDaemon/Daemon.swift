internal import AgentRuntime
internal import AgentSessions
internal import Assistant
internal import CLinux
internal import ContentServices
internal import ControlServer
internal import FoundationEssentials
internal import Glibc
package import LiveUpgrade
internal import Logging
internal import MessageRouting
internal import PluginRuntime
internal import ProcessSupervision
package import RelayConcurrency
package import RelayConfig
package import RelayHome
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import SessionStates

/// The whole supervisor: what is made from what, in which order things start, and in which they end.
package final class Daemon: Sendable {
  package struct Options: Sendable {
    package var home: HomeDirectory
    package var environment: [String: String]
    package var bundledFolder: String?
    package var guardian: String
    package var demoAgent: String?
    package var timeSource = TimeSource.system
    /// Reads the configuration; called at the start and at every reload.
    package var loadConfiguration: @Sendable () throws -> ConfigReader.Loaded
    /// Also written to the log file.
    package var say: @Sendable (String) -> Void
    package var ready: @Sendable () -> Void = {}
    /// From the program that this process was before.
    package var handover: Handover?

    package init(
      home: HomeDirectory, environment: [String: String], bundledFolder: String?, guardian: String,
      demoAgent: String?,
      loadConfiguration: @escaping @Sendable () throws -> ConfigReader.Loaded,
      say: @escaping @Sendable (String) -> Void
    ) {
      self.home = home
      self.environment = environment
      self.bundledFolder = bundledFolder
      self.guardian = guardian
      self.demoAgent = demoAgent
      self.loadConfiguration = loadConfiguration
      self.say = say
    }
  }

  private enum Wish: Sendable, Equatable { case stop, reload }

  private let options: Options
  private let wishes = Mailbox<Wish>()
  private let isStopping = Locked(false)

  package init(_ options: Options) {
    self.options = options
  }

  /// Asks for an orderly end.
  package func stop() {
    isStopping.withLock { $0 = true }
    wishes.post(.stop)
  }

  /// Asks to read the configuration again.
  package func reload() { wishes.post(.reload) }

  /// Runs until asked to stop.
  package func run() async throws {
    let home = options.home
    try home.prepare()
    let handover = options.handover
    let lock = try handover.map { DaemonLock(adopting: $0.lock) } ?? DaemonLock(home)
    defer { withExtendedLifetime(lock) {} }
    let loaded = try options.loadConfiguration()
    let config = loaded.config
    var limits = LogFile.Limits()
    limits.maximumBytes = config.logging.maximumBytes
    limits.keep = config.logging.keep
    let file = LogFile(path: home.daemonLog, limits: limits)
    let daemonLog = DaemonLog(file: file, level: config.logging.level.threshold, say: options.say)
    let logger = daemonLog.logger
    for warning in loaded.warnings { logger.warning("\(warning)") }
    let guardian = Guardian(
      path: options.guardian, identity: handover?.guardian.identity ?? UUID().uuidString,
      endsLeftovers: config.sessions.leftovers == .kill, logger: logger)
    if let handover { try guardian.adopt(handover.guardian) } else { try guardian.start() }
    defer { guardian.stop() }
    do {
      try await serve(loaded, lock, guardian, limits, daemonLog)
    } catch {
      await daemonLog.flush(within: Self.logLimit, clock: options.timeSource.clock)
      throw error
    }
    await daemonLog.flush(within: Self.logLimit, clock: options.timeSource.clock)
  }

  /// Time for the last lines to be written.
  static let logLimit: Duration = .seconds(1)
  /// How long the last messages may take to be sent.
  static let flushLimit: Duration = .seconds(5)

  private func serve(
    _ loaded: ConfigReader.Loaded, _ lock: DaemonLock, _ guardian: Guardian, _ limits: LogFile.Limits,
    _ daemonLog: DaemonLog
  ) async throws {
    let logger = daemonLog.logger
    let config = loaded.config
    let handover = options.handover
    let path = loaded.path
    let home = options.home
    let timeSource = options.timeSource
    let began = timeSource.now()
    let store = try SQLiteStore(path: home.database, logger: logger)
    let services = Services(home: home, clock: timeSource.clock, logger: logger)
    let secrets = Locked(config.secretVariables)
    func agentChoice(_ configured: String?, _ more: [String: String]) -> AgentResolver {
      var probe = AgentLocator(
        configured: configured, demoAgent: options.demoAgent, environment: options.environment.merging(more) { $1 },
        guardian: guardian, clock: timeSource.clock)
      probe.secrets = { secrets.withLock { $0 } }
      if config.assistant.executable != nil, !more.isEmpty || configured != config.pi.executable {
        probe.setting = "assistant.executable"
      }
      return AgentResolver(probe: probe)
    }
    let agents = agentChoice(config.pi.executable, [:])
    let redaction = Redactor(config.delivery.redact, logger: logger)
    let dependencies = SessionDependencies(
      home: home, guardian: guardian, environment: options.environment, store: store, timeSource: timeSource,
      logLimits: limits,
      places: AgentSlots(maximum: config.sessions.maximum, maximumStarting: config.sessions.maximumStarting),
      agents: agents, prepare: { await PreparedPrompt($0, by: services) }, logger: logger,
      quote: { redaction.line($0, limit: $1) },
      secretVariables: { secrets.withLock { $0 } })
    let assistant = AssistantSetup(config, dependencies: dependencies, agents: agentChoice)
    let sessions = SessionRegistry(
      ordinary: SessionProfile(pi: config.pi, settings: config.sessions, dependencies: dependencies),
      assistants: assistant.profile)
    let router = Router(
      .init(
        sessions: sessions, assistant: assistant, store: store, services: services, home: home,
        timeSource: timeSource, machine: config.machine, hostName: Self.hostName, deliveries: config.delivery,
        redaction: redaction, terminalGone: { home.remove($0) }, logger: logger))
    try await router.restore()
    if let handover {
      try await router.adopt(handover.router, running: handover.sessions.messages)
      await sessions.adopt(handover.sessions)
    }
    let plugins = PluginRegistry(
      discovery: PluginDiscovery(bundledFolder: options.bundledFolder, droppedFolder: home.plugins), loaded: loaded,
      dependencies: PluginDependencies(
        home: home, guardian: guardian, environment: options.environment, store: store, timeSource: timeSource,
        restart: Self.policy(config.restart), logLimits: limits, audience: router, logger: logger),
      adopting: handover?.plugins)
    let load = options.loadConfiguration
    let disk: @Sendable () -> [String] = {
      [DiskSpace(of: home.path)?.problem(of: home.path)].compactMap(\.self)
    }
    let status: @Sendable () async -> DaemonStatus = {
      let (deliveries, trouble) = await Self.deliveries(of: store)
      let (conversations, more) = await router.conversations()
      return await DaemonStatus(
        version: Product.version, pid: getpid(), home: home.path, machine: config.machine.name ?? Self.hostName,
        uptime: Double((timeSource.now() - began).components.seconds), configuration: path,
        agent: agents.known, plugins: plugins.reports(), sessions: sessions.statuses(), deliveries: deliveries,
        terminals: router.attachedTerminals(), channels: plugins.channels(), conversations: conversations,
        problems: plugins.knownProblems + trouble + more + disk(), upgrades: handover?.count ?? 0)
    }
    let reload: @Sendable () async -> [String] = {
      do {
        let new = try load()
        if path != nil, new.path == nil { throw HomeDirectory.Failure(description: "\(path ?? "") is no longer there") }
        daemonLog.level = new.config.logging.level.threshold
        for warning in new.warnings { logger.warning("\(warning)") }
        secrets.withLock { $0.formUnion(new.config.secretVariables) }
        let later = Self.heldBack(config, new.config)
        if !later.isEmpty {
          logger.warning("these settings take effect at the next start: \(later.joined(separator: ", "))")
        }
        await agents.forget()
        await assistant.profile.dependencies.agents.forget()
        await plugins.apply(new)
        logger.notice("the configuration was read again")
        return []
      } catch {
        logger.error("the configuration was not taken: \(error)")
        return "\(error)".split(separator: "\n").map(String.init)
      }
    }
    let upgrade = Locked<Upgrade?>(nil)
    let control = try ControlServer(
      home: home,
      handlers: .init(
        status: status, plugin: { await plugins.change($0, $1) }, reload: reload,
        upgrade: { program in
          guard let upgrade = upgrade.withLock({ $0 }) else { return "pi-relayd is starting; try again" }
          return await upgrade.run(program).description
        }, stop: { [self] in stop() },
        audience: router, agents: { Set(await sessions.statuses().compactMap(\.pid)) }),
      marker: guardian.marker, clock: timeSource.clock, adopting: handover?.listener,
      logger: logger)
    upgrade.withLock {
      $0 = Upgrade(
        lock: lock, guardian: guardian, plugins: plugins, sessions: sessions, router: router, control: control,
        count: handover?.count ?? 0, environment: options.environment, timeSource: timeSource, logger: logger,
        isStopping: { [isStopping] in isStopping.withLock { $0 } }, settle: { try await store.settled() })
    }

    await withTaskGroup(of: Void.self) { group in
      // On the loop, where what sessions and conversations begin is begun without another thread being woken.
      group.addTask(executorPreference: EventLoop.shared) { await sessions.run() }
      group.addTask {
        do { try await store.check() } catch { logger.error("\(error)") }
      }
      group.addTask { await Self.forgetOldWork(in: store, after: config.storage.keep, timeSource, logger) }
      group.addTask(executorPreference: EventLoop.shared) { await router.run() }
      group.addTask { await control.run() }
      group.addTask { await plugins.run() }
      if let interval = watchdogInterval {
        group.addTask {
          // Alive is what answers, not what merely exists.
          while await timeSource.sleep(for: interval) {
            _ = await status()
            relay_notify_service_manager("WATCHDOG=1")
          }
        }
      }
      let upgrade = handover.map { "; upgrade \($0.count)" } ?? ""
      logger.notice("pi-relayd \(Product.version) is ready in \(home.path)\(upgrade)")
      if config.messengers.allSatisfy({ !$0.enabled }) {
        logger.notice(
          "no messenger is configured: talk to the agent with pi-relayd chat, or set one up with pi-relayd setup")
      }
      relay_notify_service_manager("READY=1")
      options.ready()
      while let wish = await wishes.next(), wish != .stop {
        relay_notify_service_manager("RELOADING=1")
        _ = await reload()
        relay_notify_service_manager("READY=1")
      }
      relay_notify_service_manager("STOPPING=1")
      logger.notice("stopping")
      router.drain()
      let cut = await sessions.stop(drain: config.shutdown.drain)
      if config.shutdown.tellsConversations { router.tellOfStop() }
      await router.flush(within: Self.flushLimit)
      let parked = cut + (await router.leftForNextStart())
      for line in parked { logger.notice("\(line)") }
      await plugins.stop()
      control.stop(leaving: parked)
      router.stop()
      group.cancelAll()
    }
    // It holds every part, and they hold it.
    upgrade.withLock { $0 = nil }
    await store.close()
    logger.notice("stopped")
  }

  private static func deliveries(of store: SQLiteStore) async -> ([DeliveryStatus], problems: [String]) {
    do {
      let deliveries = try await store.deliveryCounts().map {
        DeliveryStatus(instance: $0.instance, waiting: $0.waiting, failed: $0.failed, lastFailure: $0.lastFailure)
      }
      return (deliveries, [store.failure].compactMap { $0.map { "\($0)" } })
    } catch {
      return ([], ["\(error)"])
    }
  }

  /// At the start and every hour; more often where less than a day is kept.
  private static func forgetOldWork(
    in store: SQLiteStore, after keep: Duration, _ timeSource: TimeSource, _ logger: Logger
  ) async {
    repeat {
      do {
        try await store.prune(endedBefore: timeSource.wallTime() - Double(keep.components.seconds))
      } catch {
        logger.error("old work was not removed: \(error)")
      }
    } while await timeSource.sleep(for: min(.seconds(3_600), keep / 24))
  }

  /// Settings that have changed but are read only at the start.
  private static func heldBack(_ old: Config, _ new: Config) -> [String] {
    [
      ("machine", old.machine != new.machine), ("pi", old.pi != new.pi), ("sessions", old.sessions != new.sessions),
      ("assistant", old.assistant != new.assistant), ("restart", old.restart != new.restart),
      ("logging.maximumMegabytes", old.logging.maximumBytes != new.logging.maximumBytes),
      ("logging.keep", old.logging.keep != new.logging.keep),
      ("shutdown", old.shutdown != new.shutdown), ("storage", old.storage != new.storage),
      ("delivery", old.delivery != new.delivery),
    ].filter(\.1).map(\.0)
  }

  /// How often systemd wants a sign of life: three times in the time it allows.
  private var watchdogInterval: Duration? {
    options.environment["WATCHDOG_USEC"].flatMap(Int.init).map { .microseconds($0 / 3) }
  }

  private static func policy(_ settings: Config.Restart) -> RestartPolicy {
    var policy = RestartPolicy()
    policy.firstDelay = settings.firstDelay
    policy.maximumDelay = settings.maximumDelay
    policy.failingCount = settings.failingCount
    policy.failingWindow = settings.failingWindow
    return policy
  }

  static var hostName: String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "this machine" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Turns SIGTERM and SIGINT into `stop`, SIGHUP into `reload`.
  package func obeySignals() throws(SystemError) {
    signal(SIGPIPE, SIG_IGN)
    let descriptor = relay_signal_descriptor()
    guard descriptor >= 0 else { throw SystemError("sigaction") }
    _ = try EventLoop.shared.watch(descriptor, .read) { [self] buffer in
      while read(descriptor, buffer.baseAddress, 1) == 1 {
        if Int32(buffer[0]) == SIGHUP { reload() } else { stop() }
      }
    }
  }
}

extension Config.Logging.Level {
  fileprivate var threshold: Logger.Level {
    switch self {
    case .debug: .debug
    case .info: .info
    case .notice: .notice
    case .warning: .warning
    case .error: .error
    }
  }
}
