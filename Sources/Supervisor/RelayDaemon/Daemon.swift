internal import AgentExtension
internal import Bridge
internal import CLinux
internal import ControlServer
internal import FoundationEssentials
internal import Glibc
package import LiveUpgrade
internal import Logging
internal import MessageRouting
internal import PluginRuntime
internal import ProcessSupervision
internal import ProgramSessions
package import RelayConcurrency
package import RelayConfig
package import RelayHome
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayTransport
internal import SessionCatalog
internal import ToolApprovals

/// The whole supervisor: how its parts are made, and the order in which they start and end.
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
  /// Why this daemon ends by itself.
  private let damage = Locked<StoreError?>(nil)

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
    // A start and a status read all sleeping sessions. Memory that this takes returns to the system; by default the C
    // library would keep ever more of it.
    mallopt(M_TRIM_THRESHOLD, 128 * 1024)
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
    let home = options.home
    let timeSource = options.timeSource
    let began = timeSource.now()
    let parts = try await DaemonParts(options, loaded, guardian, limits, logger) { [self] error in
      logger.error("\(error)")
      damage.withLock { $0 = error }
      stop()
    }
    let (store, sessions, router, plugins) = (parts.store, parts.sessions, parts.router, parts.plugins)
    let status = StatusReport(options: options, loaded: loaded, parts: parts, began: began)
    let reload = ConfigurationReload(loaded: loaded, load: options.loadConfiguration, parts: parts, log: daemonLog)
    let upgrade = Locked<Upgrade?>(nil)
    let settingsChanged = Locked<(@Sendable () async -> Void)?>(nil)
    let extensions = AgentExtensions(
      machine: config.machine.name ?? Self.hostName, sessions: sessions, commands: router.programs.commands,
      requesters: router.programs.requesters, attachments: router.programs.attachments, desk: router.approvals,
      pairing: router.pairing, store: store,
      daemonStatus: { await status.read() })
    let control = try ControlServer(
      home: home,
      handlers: .init(
        status: { await status.read() }, plugin: { await plugins.change($0, $1) },
        revokeGrant: { await router.approvals.revoke($0) },
        reload: {
          let problems = await reload.run()
          await settingsChanged.withLock { $0 }?()
          return problems
        },
        upgrade: { program in
          guard let upgrade = upgrade.withLock({ $0 }) else { return "pi-relayd is starting; try again" }
          return await upgrade.run(program).description
        }, stop: { [self] in stop() },
        audience: router, sessions: router.programs.commands, pairing: router.pairing, attachments: extensions,
        extensions: extensions,
        agents: {
          await sessions.agentProcesses().merging(router.programs.attachments.processes) { _, latest in latest }
        }, agentsReachOthers: config.sessions.agentsReachOthers),
      marker: guardian.marker, clock: timeSource.clock, adopting: handover?.listener,
      logger: logger)
    settingsChanged.withLock {
      $0 = { control.tell(ExtensionSettings(approvals: await extensions.approvalSettings())) }
    }
    router.pairing.revocation.whenChanged { control.tellPairings(of: $0) }
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
        await Housekeeping(store: store, keep: config.storage.keep, timeSource: timeSource, logger: logger).run()
      }
      group.addTask(executorPreference: EventLoop.shared) { await router.run() }
      group.addTask { await control.run() }
      if let bridges = parts.bridges { group.addTask { await bridges.run() } }
      group.addTask { await plugins.run() }
      if let interval = watchdogInterval {
        group.addTask {
          // Alive is what answers, not what merely exists.
          while await timeSource.sleep(for: interval) {
            _ = await status.read()
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
        _ = await reload.run()
        relay_notify_service_manager("READY=1")
      }
      relay_notify_service_manager("STOPPING=1")
      logger.notice("stopping")
      await stop(parts, control, config.shutdown, logger)
      group.cancelAll()
    }
    // It holds every part, and they hold it.
    upgrade.withLock { $0 = nil }
    await store.close()
    logger.notice("stopped")
    if let damage = damage.withLock({ $0 }) { throw damage }
  }

  /// Stops the parts in this order: first those whose work ends, then those that show the end.
  private func stop(
    _ parts: DaemonParts, _ control: ControlServer, _ settings: Config.ShutdownSettings, _ logger: Logger
  ) async {
    parts.router.drain()
    let cut = await parts.sessions.stop(drain: settings.drain)
    await parts.bridges?.stop(reason: "pi-relayd is stopping")
    if settings.tellsConversations { parts.router.tellOfStop() }
    await parts.router.flush(within: Self.flushLimit)
    let parked = cut + (await parts.router.leftForNextStart())
    for line in parked { logger.notice("\(line)") }
    await parts.plugins.stop()
    control.stop(leaving: parked)
    parts.router.stop()
  }

  /// The interval of the signs of life that systemd wants: three in the time that it allows.
  private var watchdogInterval: Duration? {
    options.environment["WATCHDOG_USEC"].flatMap(Int.init).map { .microseconds($0 / 3) }
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
