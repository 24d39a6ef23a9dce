internal import AgentRuntime
internal import AgentSessions
internal import Assistant
internal import Bridge
internal import ContentServices
internal import LiveUpgrade
internal import Logging
internal import MessageRouting
internal import PluginRuntime
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayLogging
internal import RelayStore
internal import RelayText
internal import SessionCatalog
internal import SessionStates

/// The parts of a daemon, each made from those before it.
struct DaemonParts: Sendable {
  let store: SQLiteStore
  let agents: AgentResolver
  let assistant: AssistantSetup
  let sessions: SessionRegistry
  let router: Router
  let plugins: PluginRegistry
  let bridges: BridgeServer?
  /// Names of variables that agents are not given; a reload adds to them.
  let secrets: Locked<Set<String>>
  /// Approvals are switched on.
  let hasApprovals: Locked<Bool>

  /// Makes the parts, with what the store and the program before this one know of them. Awaits no write, which would wait
  /// for the check of the database.
  ///
  /// - Parameter damaged: called when that check finds damage.
  init(
    _ options: Daemon.Options, _ loaded: ConfigReader.Loaded, _ guardian: Guardian, _ logLimits: LogFile.Limits,
    _ logger: Logger, damaged: @escaping @Sendable (StoreError) -> Void
  ) async throws {
    let config = loaded.config
    let home = options.home
    let timeSource = options.timeSource
    let store = try SQLiteStore(path: home.database, logger: logger, damaged: damaged)
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
    var dependencies = SessionDependencies(
      home: home, guardian: guardian, environment: options.environment, store: store, timeSource: timeSource,
      logLimits: logLimits,
      places: AgentSlots(maximum: config.sessions.maximum, maximumStarting: config.sessions.maximumStarting),
      agents: agents, prepare: { await PreparedPrompt($0, by: services) }, logger: logger,
      quote: { redaction.line($0, limit: $1) },
      secretVariables: { secrets.withLock { $0 } })
    let bridges = BridgeServer.configured(config.bridge, options, logger)
    dependencies.agentObserver = bridges
    let hasApprovals = Locked(config.approvals.isEnabled)
    dependencies.hasApprovals = { hasApprovals.withLock { $0 } }
    dependencies.agentExtension = ExtensionChoice(
      config.pi, installed: options.bundledFolder.map { "\($0)/extension" })
    let isExtensionWanted = config.approvals.isEnabled || config.pi.extensionFolder != nil
    if isExtensionWanted, case .missing(let why) = dependencies.agentExtension {
      logger.warning("agents have no extension: \(why)")
    }
    let assistant = AssistantSetup(config, dependencies: dependencies, agents: agentChoice)
    let sessions = SessionRegistry(
      ordinary: SessionProfile(pi: config.pi, settings: config.sessions, dependencies: dependencies),
      assistants: assistant.profile)
    let router = Router(
      .init(
        sessions: sessions, assistant: assistant, store: store, services: services, home: home,
        timeSource: timeSource, machine: config.machine, hostName: Daemon.hostName, deliveries: config.delivery,
        approvals: config.approvals, pairing: config.pairing, redaction: redaction, terminalGone: { home.remove($0) },
        logger: logger))
    bridges?.serve(
      BridgedSessions(
        commands: router.programs.commands, sessions: sessions, attachments: router.programs.attachments,
        marker: guardian.marker))
    try await router.restore()
    if let handover = options.handover {
      try await router.adopt(handover.router, running: handover.sessions.messages)
      await sessions.adopt(handover.sessions)
    }
    try await router.recoverPrograms()
    let plugins = PluginRegistry(
      discovery: PluginDiscovery(bundledFolder: options.bundledFolder, droppedFolder: home.plugins), loaded: loaded,
      dependencies: PluginDependencies(
        home: home, guardian: guardian, environment: options.environment, store: store, timeSource: timeSource,
        restart: RestartPolicy(config.restart), logLimits: logLimits, audience: router, logger: logger),
      adopting: options.handover?.plugins)
    self.store = store
    self.agents = agents
    self.assistant = assistant
    self.sessions = sessions
    self.router = router
    self.plugins = plugins
    self.bridges = bridges
    self.secrets = secrets
    self.hasApprovals = hasApprovals
  }
}

extension RestartPolicy {
  fileprivate init(_ settings: Config.Restart) {
    self.init()
    firstDelay = settings.firstDelay
    maximumDelay = settings.maximumDelay
    failingCount = settings.failingCount
    failingWindow = settings.failingWindow
  }
}
