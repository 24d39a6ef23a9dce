package import AgentSessions
internal import FoundationEssentials
internal import PiRPC
package import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
package import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

/// Where a person's words become commands, answers or prompts, and where the agent's become messages.
///
/// The way in: `received` checks and stores, answers the plugin, and hands over to the conversation's own queue;
/// `process` decides what the message is. The way out: sessions tell `SessionWatchers`, which tell each conversation's
/// `ConversationOutput`.
package actor Router: PluginAudience {
  package let host: SessionHost
  nonisolated let assistant: AssistantSetup
  let taskScope = TaskScope(executor: globalConcurrentExecutor, starter: EventLoop.shared)
  let store: any Store
  let services: Services
  let checkpoints: StreamCheckpoints
  let timekeeper: Timekeeper
  let machine: Config.Machine
  var makingMain: Task<Session, Never>?
  /// The session that each messenger's bot shows itself to be watching.
  var activities: [String: Activity] = [:]
  let deliveries: Config.DeliverySettings
  let redaction: Redaction
  let log: @Sendable (String) -> Void
  /// A terminal will not be back: its folders can go.
  private let terminalGone: @Sendable (String) -> Void
  let dialogs = DialogBroker()
  let watchers: SessionWatchers
  var places: [ConversationKey: Place] = [:]
  private(set) var holders: [String: LinkHolder] = [:]
  var refusals = RefusalLimiter()
  private(set) var isDraining = false
  let assistantQueue: AssistantQueue
  var hasAssistantWork = false
  /// Which session each conversation talks to, as far as it has been looked up; the store has them all.
  var bound: [ConversationKey: String?] = [:]
  /// Messages on their way to the disk.
  let accepting = Locked(0)
  /// How far the recovery of each instance's unfinished work has come.
  var recovery = RecoveryProgress()
  /// What was left unfinished when this program took over what the one before was working on.
  var leftBefore: [String: Left] = [:]

  /// One conversation: its queue of messages and its output.
  struct Place {
    let inbox: Mailbox<Arrival>
    let output: ConversationOutput
    let holder: LinkHolder
    /// Closed when the output has said everything.
    let silence: Mailbox<Void>
    var conversation: Conversation
  }

  enum Arrival: Sendable {
    case message(MessageReceived, PluginLink)
    case action(ActionInvoked, PluginLink)
    /// What the assistant has found by itself, for its owner.
    case finding(MessageReceived, PluginLink)
    /// With the message as it waits now, where it does.
    case edit(MessageEdited, MessageReceived?)
    case deletion(MessageDeleted)
    /// A message of an earlier daemon.
    case recovered(UnfinishedMessage, PluginLink)
  }

  /// Longest text of one message from a person, in bytes.
  static let longestText = 1 << 20
  static let mostAttachments = 32

  init(
    host: SessionHost, assistant: AssistantSetup, store: any Store, services: Services, folders: Folders,
    timekeeper: Timekeeper,
    machine: Config.Machine, deliveries: Config.DeliverySettings, redaction: Redaction,
    terminalGone: @escaping @Sendable (String) -> Void = { _ in }, log: @escaping @Sendable (String) -> Void
  ) {
    self.terminalGone = terminalGone
    self.host = host
    self.assistant = assistant
    self.store = store
    self.services = services
    checkpoints = StreamCheckpoints(folder: folders.streams, log: log)
    self.timekeeper = timekeeper
    self.machine = machine
    self.deliveries = deliveries
    self.redaction = redaction
    self.log = log
    watchers = SessionWatchers(dialogs: dialogs, timekeeper: timekeeper)
    assistantQueue = AssistantQueue(assistant.settings, timekeeper, log: log)
  }

  /// Runs conversations until `stop`.
  package func run() async {
    // The router lives as long as the watchers: both end with the daemon.
    watchers.whenEndedUnseen { [unowned self, taskScope] end, how in
      taskScope.add { [self] in await endUnseen(end, how) }
    }
    watchers.whenAskedUnseen { [unowned self, taskScope] record, key in
      taskScope.add { [self] in await tellOfQuestion(record, to: key) }
    }
    watchers.whenChanged { [unowned self, taskScope] in taskScope.add { [self] in await showWatched() } }
    await taskScope.run()
  }

  /// Takes no new messages from now on.
  package func drain() {
    isDraining = true
  }

  /// Says in every conversation of this daemon that it ends.
  package func tellOfStop() {
    for place in places.values {
      place.output.post(
        .say("⏹ pi-relayd is stopping. What waits goes on at its next start.", .notice, buttons: nil))
    }
  }

  /// Waits until everything that is to be said has been, for as long as `limit`. Of the rest the next daemon finds what
  /// is recorded.
  package func flush(within limit: Duration) async {
    for place in places.values {
      place.inbox.close()
      place.output.close()
    }
    let silences = places.values.map(\.silence)
    do {
      try await withDeadline(limit, clock: timekeeper.clock) { for silence in silences { _ = await silence.next() } }
    } catch {
      log("not everything could be said within \(limit.forPeople); the next start says what of it is recorded")
    }
  }

  package func stop() {
    taskScope.close()
  }

  // MARK: - Plugins come and go

  package func connected(_ link: PluginLink) async {
    await services.connected(link)
    guard link.isMessenger else { return }
    holder(link.name).set(link)
    if !link.isLocal, link.messenger?.access.admitsNobody == true {
      log("\(link.name) admits nobody: list people under auth.users in relay.yaml")
    } else if !link.isLocal, link.messenger?.access.everyone == true {
      log("\(link.name) admits everyone who can reach it (auth.everyone: true)")
    }
    if link.messenger?.conversations.values.contains(where: { $0.use == .assistant }) == true { beginAssistantWork() }
    await recover(link)
    showWatched()
    guard link.capabilities.commandsMenu == true else { return }
    taskScope.add { [log] in
      do {
        _ = try await link.request(CommandsChanged(commands: CommandRegistry.menu))
      } catch {
        log("\(link.name): the command menu could not be set: \(error)")
      }
    }
  }

  package func disconnected(_ link: PluginLink) async {
    await services.disconnected(link)
    holders[link.name]?.clear(link)
    guard link.isLocal else { return }
    taskScope.add { [self, timekeeper] in
      if await timekeeper.sleep(for: Self.terminalGrace) { await dropTerminal(link.name) }
    }
  }

  /// How long a terminal that has gone may take to come back: its daemon or its connection may have been restarted.
  static let terminalGrace: Duration = .seconds(60)

  func dropTerminal(_ instance: String) async {
    guard holders[instance]?.current == nil else { return }
    holders.removeValue(forKey: instance)?.close()
    for key in places.keys where key.instance == instance {
      guard let place = places.removeValue(forKey: key) else { continue }
      watchers.drop(key)
      place.inbox.close()
      place.output.close()
    }
    terminalGone(instance)
    for session in await host.awake() { await session.drop(instance: instance) }
    do {
      try await store.forget(instance: instance)
      bound = bound.filter { $0.key.instance != instance }
    } catch {
      log("\(instance): that it is gone could not be stored: \(error)")
    }
  }

  package func mayEnd(_ link: PluginLink, wake: @escaping @Sendable () -> Void) async -> Bool {
    await services.mayEnd(link, wake: wake)
  }

  /// Conversations that talk to a session, and what is in the way of telling them.
  package func conversations() async -> ([ConversationStatus], problems: [String]) {
    var result: [ConversationStatus] = []
    do {
      // The main session is bound to a conversation that nobody sees.
      for instance in try await store.instances().sorted() where instance != Self.main.instance {
        for binding in try await store.bindings(of: instance) {
          guard let session = await host.listing(binding.session) else { continue }
          result.append(
            ConversationStatus(
              instance: instance, conversation: binding.key.conversation, kind: binding.conversation.kind.rawValue,
              title: binding.conversation.title.map { SafeText.line($0) }, session: await session.status().name,
              isConnected: holders[instance]?.current != nil))
        }
      }
      return (result, [])
    } catch {
      return (result, ["the conversations could not be read: \(error)"])
    }
  }

  package func attachedTerminals() -> [String] {
    holders.filter { $0.value.current?.isLocal == true }.keys.sorted()
  }

  func holder(_ instance: String) -> LinkHolder {
    if let holder = holders[instance] { return holder }
    let holder = LinkHolder()
    holders[instance] = holder
    return holder
  }

  // MARK: - Conversations

  func key(_ link: PluginLink, _ conversation: Conversation) -> ConversationKey {
    ConversationKey(instance: link.name, conversation: conversation.id)
  }

  func place(_ key: ConversationKey, _ conversation: Conversation, _ link: PluginLink) -> Place {
    place(
      key, conversation, capabilities: link.capabilities,
      settings: ConversationOutput.Settings(link.messenger, conversation))
  }

  func place(
    _ key: ConversationKey, _ conversation: Conversation, capabilities: Capabilities,
    settings: ConversationOutput.Settings
  ) -> Place {
    if let place = places[key] {
      places[key]?.conversation = conversation
      return place
    }
    let holder = holder(key.instance)
    let delivery = Delivery(
      conversation: key, holder: holder, store: store, timekeeper: timekeeper, settings: deliveries,
      log: log)
    let output = ConversationOutput(
      conversation: conversation, delivery: delivery, capabilities: capabilities, settings: settings,
      services: services, redaction: redaction,
      checkpoints: checkpoints, taskScope: taskScope)
    let inbox = Mailbox<Arrival>()
    let silence = Mailbox<Void>()
    let place = Place(
      inbox: inbox, output: output, holder: holder, silence: silence, conversation: conversation)
    places[key] = place
    taskScope.add(on: EventLoop.shared) {
      await output.run()
      silence.close()
    }
    // On the loop, as all that a message goes through: no other thread is woken on its way to the agent.
    taskScope.add(on: EventLoop.shared) { [self] in
      while let arrival = await inbox.next() { await process(arrival, key) }
    }
    return place
  }

  /// - Parameter message: what this is said to, and does not end yet.
  func say(_ text: String, to key: ConversationKey, about message: String? = nil) async {
    places[key]?.output.post(
      .say(text, .notice, buttons: nil, replyTo: message.flatMap { MessageEnd.isInteraction($0) ? $0 : nil }))
  }

  /// How a conversation is set up.
  func settings(_ link: PluginLink, _ conversation: Conversation) -> Config.ConversationSettings {
    link.messenger?.settings(of: conversation) ?? Config.ConversationSettings()
  }

  func makeSession(
    _ key: ConversationKey, _ link: PluginLink, name: String?, directory: String?, model: String?,
    role: SessionRole? = nil
  ) async -> Session {
    // A local terminal says where it was started; nobody else may choose a folder this way.
    let place = places[key]
    let folder = directory ?? (link.isLocal ? place?.conversation.directory : nil)
    let conversation = place?.conversation ?? Conversation(id: key.conversation)
    let wantsImages = settings(link, conversation).images == .automatic
    return await host.create(
      name: name, directory: folder, model: model, wantsToolImages: wantsImages, role: role, home: key
    ) { [watchers, assistantQueue] session, event in
      assistantQueue.note(event)
      watchers.tell(session, event)
    }
  }
}
