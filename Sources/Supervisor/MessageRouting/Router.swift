package import Assistant
internal import ChatCommands
package import ContentServices
internal import ConversationSessions
internal import Conversations
package import Logging
internal import MessageDelivery
internal import Pairings
package import PluginRuntime
internal import ProgramSessions
package import RelayConcurrency
package import RelayConfig
package import RelayHome
internal import RelayLogging
package import RelayModel
package import RelayStore
package import RelayText
package import RelayTransport
internal import RelayWire
package import SessionCatalog
package import ToolApprovals

/// Routes people's messages to sessions and the sessions' events to conversations.
///
/// The way in: `InboundGate` checks, authorises and stores a message, answers the plugin, and puts it into its conversation's
/// queue; `MessageDispatcher` takes it from there and decides whether it is a command, an answer or a prompt. The way out:
/// sessions tell `SessionSubscriptions`, which tell each conversation's `ConversationOutput`.
package final class Router: PluginEventHandler {
  /// The parts of the daemon that routing works with.
  package struct Dependencies: Sendable {
    package let sessions: SessionRegistry
    package let assistant: AssistantSetup
    package let store: SQLiteStore
    package let services: Services
    package let home: HomeDirectory
    package let timeSource: TimeSource
    package let machine: Config.Machine
    /// Of this machine, where its configuration gives it no name.
    package let hostName: String
    package let deliveries: Config.DeliverySettings
    package let approvals: Config.Approvals
    package let pairing: Config.Pairing
    package let redaction: Redactor
    /// A terminal will not be back: its folders can go.
    package let terminalGone: @Sendable (String) -> Void
    package let logger: Logger

    package init(
      sessions: SessionRegistry,
      assistant: AssistantSetup,
      store: SQLiteStore,
      services: Services,
      home: HomeDirectory,
      timeSource: TimeSource,
      machine: Config.Machine,
      hostName: String,
      deliveries: Config.DeliverySettings,
      approvals: Config.Approvals = Config.Approvals(),
      pairing: Config.Pairing = Config.Pairing(),
      redaction: Redactor,
      terminalGone: @escaping @Sendable (String) -> Void,
      logger: Logger
    ) {
      self.sessions = sessions
      self.assistant = assistant
      self.store = store
      self.services = services
      self.home = home
      self.timeSource = timeSource
      self.machine = machine
      self.hostName = hostName
      self.deliveries = deliveries
      self.approvals = approvals
      self.pairing = pairing
      self.redaction = redaction
      self.terminalGone = terminalGone
      self.logger = logger
    }
  }

  private let dependencies: Dependencies
  private let taskScope: TaskScope
  /// Decides about tool calls.
  package let approvals: ApprovalDesk
  /// Admits people by codes.
  package let pairing: PairingDesk
  private let conversationRouting: ConversationRouting
  private let gate: InboundGate
  private let prompts: PromptRouter
  private let requests: PluginRequests
  private let recovery: RecoveryCoordinator
  private let presence: PresenceTracker
  private let scheduler: AssistantScheduler
  private let terminals: DetachedTerminals
  private let unseen: UnseenEvents
  private let snapshots: RoutingSnapshots
  /// For what is no messenger.
  package let programs: ProgramRouting

  package init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    let (store, sessions, timeSource) = (dependencies.store, dependencies.sessions, dependencies.timeSource)
    let (redaction, logger) = (dependencies.redaction, dependencies.logger)
    let questions = QuestionRegistry()
    taskScope = TaskScope(executor: globalConcurrentExecutor, starter: EventLoop.shared)
    let admission = AdmissionController(dependencies.assistant.settings, timeSource, logger: logger)
    conversationRouting = ConversationRouting(dependencies, questions: questions, taskScope: taskScope)
    let (directory, subscriptions) = (conversationRouting.directory, conversationRouting.subscriptions)
    let (bindings, people) = (conversationRouting.bindings, conversationRouting.people)
    approvals = ApprovalDesk(
      settings: dependencies.approvals, sessions: sessions, store: store, timeSource: timeSource,
      redaction: Redactor([Redactor.builtInName] + dependencies.deliveries.redact), logger: logger,
      session: { [bindings] in await bindings.id(of: $0) })
    pairing = PairingDesk(
      settings: dependencies.pairing, people: people, sessions: sessions, bindings: bindings, directory: directory,
      timeSource: timeSource, logger: logger)
    gate = InboundGate(
      store: store, directory: directory, subscriptions: subscriptions, questions: questions, people: people,
      pairing: pairing, timeSource: timeSource, logger: logger)
    prompts = PromptRouter(
      sessions: sessions, bindings: bindings, directory: directory, subscriptions: subscriptions,
      assistant: dependencies.assistant, admission: admission, isDraining: { [gate] in gate.isDraining },
      machineName: dependencies.machine.name, clock: timeSource.clock)
    let threads = ThreadSessions(
      store: store, sessions: sessions, directory: directory, bindings: bindings, prompts: prompts,
      redaction: redaction, machineName: dependencies.machine.name ?? dependencies.hostName, logger: logger)
    let dispatcher = MessageDispatcher(
      store: store, sessions: sessions, directory: directory, bindings: bindings, prompts: prompts, threads: threads,
      subscriptions: subscriptions, questions: questions, approvals: approvals, pairing: pairing, logger: logger)
    programs = ProgramRouting(
      dependencies, conversationRouting, prompts: prompts, threads: threads, questions: questions,
      taskScope: taskScope, isDraining: { [gate] in gate.isDraining })
    recovery = RecoveryCoordinator(
      store: store, sessions: sessions, directory: directory, bindings: bindings, dispatcher: dispatcher,
      programs: programs.recovery, redaction: redaction, logger: logger)
    presence = PresenceTracker(
      sessions: sessions, directory: directory, subscriptions: subscriptions, redaction: redaction, logger: logger)
    scheduler = AssistantScheduler(
      dependencies.assistant, sessions: sessions, admission: admission, timeSource: timeSource, logger: logger)
    requests = PluginRequests(
      store: store, gate: gate, threads: threads,
      completion: CommandCompletion(dispatcher: dispatcher, people: people, clock: timeSource.clock),
      taskScope: taskScope,
      logger: logger)
    terminals = DetachedTerminals(
      store: store, sessions: sessions, directory: directory, subscriptions: subscriptions, bindings: bindings,
      timeSource: timeSource, taskScope: taskScope, removeFolders: dependencies.terminalGone, logger: logger)
    unseen = UnseenEvents(
      store: store, sessions: sessions, directory: directory, questions: questions, logger: logger)
    snapshots = RoutingSnapshots(
      gate: gate, directory: directory, subscriptions: subscriptions, questions: questions, recovery: recovery,
      programs: programs.gate)
    directory.onArrival { [dispatcher, recovery] arrival, key in
      await dispatcher.process(arrival, key) { await recovery.process($0, $1, $2) }
    }
  }

  // MARK: - Start and stop

  /// Lists the sessions of an earlier daemon; their agents sleep until there is work. The work of each messenger is
  /// continued when the messenger connects.
  package func restore() async throws {
    try await conversationRouting.people.restore()
    try await dependencies.sessions.restore(emit: prompts.emit)
    let store = dependencies.store
    var keys: Set<String> = []
    for instance in try await store.instances() {
      keys.formUnion(try await store.unfinishedOutbound(of: instance).map(\.record.key))
    }
    conversationRouting.checkpoints.sweep(keeping: keys)
    terminals.expectAll(among: try await store.instances())
    try await programs.recovery.sweepFiles()
  }

  /// Continues the messages of programs; after the sessions have continued.
  package func recoverPrograms() async throws { try await recovery.recoverPrograms() }

  /// Runs conversations until `stop`.
  package func run() async {
    let subscriptions = conversationRouting.subscriptions
    subscriptions.whenEndedUnseen { [taskScope, unseen, programs] end, how in
      // At once: the daemon may be about to close the store.
      if end.key.conversation.isProgram { return programs.messages.ended(end) }
      taskScope.add { await unseen.ended(end, how) }
    }
    subscriptions.whenAskedUnseen { [taskScope, unseen] record, key in
      taskScope.add { await unseen.asked(record, key) }
    }
    conversationRouting.bindings.whenTurned { [approvals] in await approvals.conversationTurned($0, to: $1) }
    taskScope.add { [approvals] in await approvals.endEarlierApprovals() }
    subscriptions.whenChanged { [weak presence] in presence?.scheduleUpdate() }
    await taskScope.run()
  }

  /// Takes no new messages from now on.
  package func drain() { gate.drain() }

  /// Says in every conversation that something has concerned since this daemon began that it ends.
  package func tellOfStop() {
    for context in conversationRouting.directory.all.values {
      context.output.post(
        .say("⏹ pi-relayd is stopping. Waiting messages continue at its next start.", .notice, buttons: nil))
    }
  }

  /// Waits until everything has been said, for as long as `limit`. Of the rest the next daemon finds what is recorded.
  package func flush(within limit: Duration) async {
    guard await !conversationRouting.directory.flush(within: limit) else { return }
    dependencies.logger.warning(
      "not everything could be sent within \(limit.forPeople); the next start sends the part that is recorded")
  }

  package func stop() {
    taskScope.close()
    conversationRouting.directory.stop()
  }

  /// The work that the next daemon finds, in words: a line for each instance that has some.
  package func leftForNextStart() async -> [String] { await recovery.leftForNextStart() }

  // MARK: - Plugins come and go

  package func connected(_ link: PluginConnection) async {
    await dependencies.services.connected(link)
    guard link.isMessenger else { return }
    conversationRouting.directory.connected(link)
    let logger = dependencies.logger.with("instance", link.name)
    if !link.isLocal, link.messenger?.access.admitsNobody == true,
      !conversationRouting.people.active.contains(where: { $0.conversation.instance == link.name })
    {
      logger.warning("it admits nobody: list people under auth.users in relay.yaml, or admit one with: pi-relayd pair")
    } else if !link.isLocal, link.messenger?.access.everyone == true {
      logger.notice("it admits everyone who can reach it (auth.everyone: true)")
    }
    if link.messenger?.conversations.values.contains(where: { $0.use == .assistant }) == true {
      let host = RoutingForAssistant(
        store: dependencies.store, directory: conversationRouting.directory,
        bindings: conversationRouting.bindings, gate: gate, recovery: recovery,
        owner: dependencies.assistant.settings.owner, logger: dependencies.logger)
      await scheduler.begin(for: host, in: taskScope)
    }
    await recovery.recover(link)
    await presence.update()
    guard link.capabilities.commandsMenu == true else { return }
    taskScope.add {
      do {
        _ = try await link.request(CommandsChanged(commands: CommandRegistry.menu))
      } catch {
        logger.warning("the command menu could not be set: \(error)")
      }
    }
  }

  package func disconnected(_ link: PluginConnection) async {
    await dependencies.services.disconnected(link)
    conversationRouting.directory.disconnected(link)
    if link.isLocal { terminals.expect([link.name]) }
  }

  package func mayEnd(_ link: PluginConnection, wake: @escaping @Sendable () -> Void) async -> Bool {
    await dependencies.services.mayEnd(link, wake: wake)
  }

  package func received(_ request: IncomingRequest, from link: PluginConnection) async {
    await requests.answer(request, from: link)
  }

  // MARK: - Status

  /// Conversations that talk to a session, and the reasons why some cannot be listed.
  package func conversations() async -> ([ConversationStatus], problems: [String]) {
    var result: [ConversationStatus] = []
    do {
      // The main session is bound to a conversation that nobody sees.
      for instance in try await dependencies.store.instances().sorted()
      where instance != SessionBindings.main.instance {
        for binding in try await dependencies.store.bindings(of: instance) {
          guard let session = await dependencies.sessions.listing(binding.session) else { continue }
          result.append(
            ConversationStatus(
              instance: instance, conversation: binding.key.conversation, kind: binding.conversation.kind.rawValue,
              title: binding.conversation.title.map { TextSanitizer.line($0) }, session: await session.status().name,
              isConnected: conversationRouting.directory.link(instance) != nil))
        }
      }
      return (result, [])
    } catch {
      return (result, ["the conversations could not be read: \(error)"])
    }
  }

  package func attachedTerminals() -> [String] {
    conversationRouting.directory.links.filter(\.isLocal).map(\.name).sorted()
  }

  // MARK: - Upgrade

  package struct Snapshot: Codable, Sendable {
    var conversations: [ConversationSnapshot]
    var dialogs: [PendingQuestion]
  }

  /// Says nothing more until `resume`.
  ///
  /// - Returns: the work under way, when nothing is being handled at this moment; otherwise `nil`, and the obstacle.
  package func hold() async -> (Snapshot?, obstacle: String?) { await snapshots.takeSnapshot() }

  package func resume() async { await snapshots.resume() }

  /// Continues with what the predecessor of this process was showing. Messengers need not be connected yet. Must be
  /// called before sessions continue.
  ///
  /// - Parameter running: messages that sessions continue.
  package func adopt(_ handover: Snapshot, running: Set<MessageKey>) async throws {
    try await snapshots.adopt(handover, running: running)
  }
}
