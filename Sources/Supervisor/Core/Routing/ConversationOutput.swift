internal import FoundationEssentials
internal import PiRPC
internal import RelayConfig
internal import RelayPipes
internal import RelayStore
internal import RelayWire

/// Everything that goes to one conversation, one thing after another: the answer as it streams, tools, notices and
/// questions.
actor ConversationOutput {
  enum Item: Sendable {
    case event(SessionEvent)
    case say(String, MessageRole, buttons: [[Button]]?)
    /// Says how a message ended of which nothing else is heard, and ends it.
    case report(String, MessageEnd, MessageSettled.Outcome)
    /// Something that an earlier daemon recorded and did not see settled.
    case resend(OutboundRecord)
    case ask(DialogRecord)
    /// A message of which nothing more is to be said has ended.
    case end(MessageEnd, MessageSettled.Outcome)
    case settleDialog(id: String, text: String)
    case settled(message: String, MessageSettled.Outcome)
    case detached
    case flush(Int)
    case toolIsSlow(String)
    /// More waited than is kept for a messenger that is away.
    case leftOut(tools: Int, messages: Int)
  }

  struct Settings: Sendable, Equatable {
    var output = Config.Output.stream
    var images = Config.Images.explicit
    var editInterval: Duration?

    init() {}

    init(_ messenger: Config.Messenger) {
      output = messenger.output
      images = messenger.images
      editInterval = messenger.editInterval
    }
  }

  nonisolated let key: ConversationKey
  private nonisolated let items: Mailbox<Item>
  let delivery: Delivery
  var settings: Settings
  let services: Services
  let nursery: Nursery
  let timekeeper: Timekeeper

  /// What the messenger can do: of its present life, or of the last while it is away.
  var capabilities: Capabilities
  var link: PluginLink?
  var stream = StreamedText()
  /// Counts the agent's messages.
  var streamNumber = 0
  var flushNumber = 0
  var flushScheduled = false
  var lastFlush: Duration = .zero
  var notBefore: Duration = .zero
  var running: [String: FormatTool.Call] = [:]
  var finished: [FormatTool.Call] = []
  var progress: [String: String] = [:]
  var dialogs: [String: String] = [:]
  /// Some of the run's answer could not be shown.
  var isIncomplete = false

  static let usualEditInterval: Duration = .milliseconds(800)
  static let usualLimit = 4_000
  /// A tool that runs longer is mentioned while it runs.
  static let slowTool: Duration = .milliseconds(500)

  init(
    delivery: Delivery, capabilities: Capabilities, settings: Settings, services: Services, nursery: Nursery
  ) {
    self.capabilities = capabilities
    key = delivery.conversation
    self.delivery = delivery
    self.settings = settings
    self.services = services
    self.nursery = nursery
    timekeeper = delivery.timekeeper
    items = Mailbox(limit: OutputBacklog.limit, compact: OutputBacklog.compact) { last, new in
      guard case .event(.text(let more)) = new, case .event(.text(let text)) = last else { return false }
      last = .event(.text(text + more))
      return true
    }
  }

  /// Queues something; never waits.
  nonisolated func post(_ item: Item) { items.post(item) }

  nonisolated func close() { items.close() }

  func run() async {
    while let item = await items.next() { await handle(item) }
  }

  func handle(_ item: Item) async {
    meetMessenger()
    switch item {
    case .event(let event): await handle(event)
    case .say(let text, let role, let buttons):
      await breakStream()
      await say(text, role, buttons: buttons)
    case .report(let text, let end, let outcome):
      await breakStream()
      await say(text, .notice, ending: end)
      await delivery.settled(end.key.id, outcome)
    case .end(let end, let outcome):
      delivery.store.endSoon(end)
      await delivery.settled(end.key.id, outcome)
    case .resend(let record): await delivery.resend(record)
    case .ask(let record): await ask(record)
    case .settleDialog(let id, let text):
      if let message = dialogs.removeValue(forKey: id) { await delivery.closeDialog(id, message: message, text: text) }
    case .settled(let message, let outcome): await delivery.settled(message, outcome)
    case .detached: await detach()
    case .flush(let number):
      if number == flushNumber { await flushNow() }
    case .toolIsSlow(let id): await showProgress(of: id)
    case .leftOut(let tools, let messages):
      await breakStream()
      await say(
        "… Not shown, because this messenger was away for long: \(messages) messages and \(tools) tool calls. "
          + "The session has them all.", .notice)
    }
  }

  func handle(_ event: SessionEvent) async {
    switch event {
    case .runStarted(let origin, let text):
      // What was typed elsewhere is shown here; what was typed here is known by its id.
      if let origin, origin.conversation != key { await say("▶ \(text)", .echo) }
      await delivery.typing(true)
    case .text(let text):
      guard settings.output != .final else { return }
      await flushTools()
      stream.append(text)
      if capabilities.edit == true { await showSoon() }
    case .messageEnded(let message): await end(message)
    case .toolStarted(let id, let name, let arguments):
      running[id] = FormatTool.Call(name: name, arguments: arguments)
      nursery.add { [self, timekeeper] in
        if await timekeeper.sleep(for: Self.slowTool) { post(.toolIsSlow(id)) }
      }
    case .toolEnded(let id, let name, let failed, let images):
      await endTool(id, name, failed: failed, images)
    case .notice(let text):
      await breakStream()
      await say(text, .notice)
    case .dialogOpened, .dialogWithdrawn: break
    case .runEnded(let message, let end, let stage):
      await endRun(end)
      if let message, message.conversation == key { delivery.store.endSoon(MessageEnd(message, stage)) }
      let outcome = isIncomplete && end == .completed ? .failed : Self.outcome(of: end)
      isIncomplete = false
      if let message, message.conversation == key { await delivery.settled(message.id, outcome) }
    }
  }

  // MARK: - The answer

  /// Looks whether another life of the messenger has begun.
  func meetMessenger() {
    guard let present = delivery.holder.current, present !== link else { return }
    link = present
    capabilities = present.capabilities
    if let messenger = present.messenger { settings = Settings(messenger) }
  }

  var limit: Int {
    let most = capabilities.maximumTextLength ?? Self.usualLimit
    return max(50, most - most / 20)
  }

  var editInterval: Duration {
    let shortest = capabilities.minimumEditInterval.map { Duration.milliseconds($0) }
    return settings.editInterval ?? shortest ?? Self.usualEditInterval
  }

  /// The conversation turns to another session: what was under way here is brought to an end.
  func detach() async {
    if !stream.isEmpty { await flush(final: true) }
    beginStream()
    running = [:]
    finished = []
    for message in progress.values { await delivery.delete(message) }
    progress = [:]
    for (id, message) in dialogs {
      await delivery.closeDialog(id, message: message, text: "(moved to another session)")
    }
    dialogs = [:]
    await delivery.typing(false)
  }

  func endRun(_ end: RunEnd) async {
    if !stream.isEmpty {
      await flush(final: true)
      beginStream()
    }
    await flushTools()
    for message in progress.values { await delivery.delete(message) }
    progress = [:]
    running = [:]
    await delivery.typing(false)
    switch end {
    case .completed: break
    case .handled: await say("✓ Done by the agent itself, without an answer.", .notice)
    case .aborted: await say("⏹ Stopped.", .notice)
    case .failed(let why): await say("❌ \(why)", .notice)
    }
  }

  static func outcome(of end: RunEnd) -> MessageSettled.Outcome {
    switch end {
    case .completed: .answered
    case .aborted: .stopped
    case .failed: .failed
    case .handled: .handled
    }
  }

  // MARK: - Notices and questions

  /// - Parameter ending: the message whose end this reports.
  func say(_ text: String, _ role: MessageRole, buttons: [[Button]]? = nil, ending: MessageEnd? = nil) async {
    let unit = capabilities.lengthUnit ?? .utf16
    let pieces = PlainText.split(text, limit: limit, unit: unit)
    for (index, piece) in pieces.enumerated() {
      _ = await delivery.send(
        piece.text, role: role, buttons: index == pieces.count - 1 ? buttons : nil,
        ending: index == 0 ? ending : nil)
    }
  }

  func ask(_ record: DialogRecord) async {
    await breakStream()
    await flushTools()
    dialogs[record.id] = await delivery.show(
      DialogShow(
        key: UUID().uuidString, conversation: key.conversation, dialog: record.id, kind: record.kind,
        text: record.question, buttons: record.buttons(within: capabilities.buttons), prefill: record.dialog.prefill,
        expires: record.expires))?.message
  }
}
