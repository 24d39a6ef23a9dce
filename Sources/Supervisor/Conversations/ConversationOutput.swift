package import AgentSessions
package import ContentServices
internal import FoundationEssentials
package import MessageDelivery
internal import PiRPC
internal import PluginRuntime
package import RelayConcurrency
package import RelayConfig
package import RelayModel
internal import RelayStore
package import RelayText
internal import RelayTransport
package import RelayWire

/// Everything that goes to one conversation, one thing after another: the answer as it streams, tools, notices and
/// questions.
package actor ConversationOutput {
  package enum Item: Sendable {
    case event(SessionEvent)
    case say(String, MessageRole, buttons: [[Button]]?, replyTo: String? = nil)
    /// Says how a message ended of which nothing else is heard, and ends it.
    case report(String, MessageEnd, buttons: [[Button]]? = nil)
    /// Says something new in place of what a message shows, which ends another.
    case change(String, String, buttons: [[Button]]?, MessageEnd)
    /// Something that an earlier daemon recorded and did not bring to its end.
    case resume(UnfinishedOutbound)
    case ask(DialogRecord)
    /// Asked by a session that the conversation no longer watches.
    case askedElsewhere(DialogRecord, session: String)
    /// A message of which nothing more is to be said has ended.
    case end(MessageEnd)
    /// The messenger has not been told how this message ended.
    case tell(MessageEnd)
    case settleDialog(DialogRecord, DialogRecord.Outcome)
    case detached
    case flush(Int)
    case toolIsSlow(String)
    /// The agent has not begun yet.
    case runIsSlow(Int)
    /// More waited than is kept for a messenger that is away.
    case leftOut(tools: Int, messages: Int)
  }

  package struct Settings: Codable, Sendable, Equatable {
    var output = Config.Output.stream
    var images = Config.Images.explicit
    var editInterval: Duration?

    init() {}

    package init(_ messenger: Config.Messenger?, _ conversation: Conversation) {
      guard let messenger else { return }
      let settings = messenger.settings(of: conversation)
      output = settings.output ?? .stream
      images = settings.images ?? .explicit
      editInterval = messenger.editInterval
    }
  }

  nonisolated let key: ConversationKey
  private let conversation: Conversation
  private nonisolated let items: Mailbox<Item>
  /// Ends that are on their way to the disk.
  private nonisolated let ending = Locked(0)
  let delivery: Delivery
  var settings: Settings
  let services: Services
  let redaction: Redaction
  let checkpoints: StreamCheckpoints
  let taskScope: TaskScope
  let timekeeper: Timekeeper

  /// What the messenger can do: of its present life, or of the last while it is away.
  var capabilities: Capabilities
  var link: PluginLink?
  var stream = StreamedText()
  /// Of the message that grows.
  var checkpoint: StreamCheckpoint?
  /// Counts the agent's messages.
  var streamNumber = 0
  var flushNumber = 0
  var flushScheduled = false
  var lastFlush: Duration = .zero
  var notBefore: Duration = .zero
  var running: [String: FormatTool.Call] = [:]
  var finished: [FormatTool.Call] = []
  var progress: [String: Delivery.Sent] = [:]
  var dialogs: [String: Delivery.Sent] = [:]
  /// Another program is about to go on: nothing more is said.
  var isHeld = false
  var whenResumed: CheckedContinuation<Void, Never>?
  /// What came while it is held.
  var heldItem: Item?
  var isTyping = false
  /// The words of a message that was written elsewhere and has not been given to the agent yet.
  var echo: String?
  /// Counts runs and their ends.
  var runNumber = 0
  /// Some of the run's answer could not be shown.
  var isIncomplete = false

  static let usualEditInterval: Duration = .milliseconds(800)
  static let usualLimit = 4_000
  /// An agent that takes longer to begin is typing meanwhile.
  static let slowStart: Duration = .milliseconds(300)
  /// A tool that runs longer is mentioned while it runs.
  static let slowTool: Duration = .milliseconds(500)

  package init(
    conversation: Conversation, delivery: Delivery, capabilities: Capabilities, settings: Settings, services: Services,
    redaction: Redaction, checkpoints: StreamCheckpoints, taskScope: TaskScope
  ) {
    self.conversation = conversation
    self.checkpoints = checkpoints
    self.capabilities = capabilities
    key = delivery.conversation
    self.delivery = delivery
    self.settings = settings
    self.services = services
    self.redaction = redaction
    self.taskScope = taskScope
    timekeeper = delivery.timekeeper
    items = Mailbox(limit: OutputBacklog.limit, compact: OutputBacklog.compact) { last, new in
      guard case .event(.text(let more)) = new, case .event(.text(let text)) = last else { return false }
      last = .event(.text(text + more))
      return true
    }
  }

  /// Queues something; never waits.
  package nonisolated func post(_ item: Item) { items.post(item) }

  package nonisolated func close() { items.close() }

  /// Nothing waits, and nothing is being shown at this moment. What only shows that time passes does not count.
  var isQuiet: Bool {
    guard ending.withLock({ $0 == 0 }) else { return false }
    switch heldItem {
    case nil: return items.isAwaited
    case .flush, .toolIsSlow, .runIsSlow: return items.isEmpty
    default: return false
    }
  }

  package func run() async {
    while let item = await items.next() {
      if isHeld {
        heldItem = item
        await withCheckedContinuation { whenResumed = $0 }
        heldItem = nil
      }
      await handle(item)
    }
  }

  func handle(_ item: Item) async {
    meetMessenger()
    switch item {
    case .event(let event): await handle(event)
    case .say(let text, let role, let buttons, let replyTo):
      await breakStream()
      await say(text, role, buttons: buttons, replyTo: replyTo)
    case .report(let text, let end, let buttons):
      await breakStream()
      // What is not stored has not ended: the next daemon goes on with it.
      if await say(text, .notice, buttons: buttons, replyTo: end.interaction, ending: end) { await delivery.tell(end) }
    case .change(let message, let text, let buttons, let end):
      await breakStream()
      if await delivery.change(message, redaction.apply(to: text), buttons, ending: end) { await delivery.tell(end) }
    case .end(let end):
      // What waits behind it need not wait for the disk: ends that come together share a commit.
      if items.isEmpty { return await delivery.end(end) }
      ending.withLock { $0 += 1 }
      taskScope.add(on: EventLoop.shared) { [delivery, ending] in
        await delivery.end(end)
        ending.withLock { $0 -= 1 }
      }
    case .tell(let end): await delivery.tell(end)
    case .resume(let unfinished): await resume(unfinished)
    case .ask(let record): await ask(record)
    case .askedElsewhere(let record, let session):
      let title = redaction.line(record.dialog.title, limit: 200)
      await breakStream()
      await say("❓ The session \(session), which you left, asks: \(title)\nTo answer: /use \(session)", .notice)
    case .settleDialog(let record, let outcome):
      if let sent = dialogs.removeValue(forKey: record.id) {
        let isAnswered = if case .answered = outcome { true } else { false }
        let text = record.closing(outcome, through: redaction)
        await delivery.closeDialog(record.id, shown: sent, text: text, below: isAnswered ? nil : below(text))
      }
    case .detached: await detach()
    case .flush(let number):
      if number == flushNumber { await flushNow() }
    case .toolIsSlow(let id): await showProgress(of: id)
    case .runIsSlow(let number): if number == runNumber { await startTyping() }
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
      // Words typed elsewhere are shown here, once they are sure to run; words typed here are known by their id.
      echo = origin.flatMap { origin in
        if origin.origin.isHeartbeat { return "💓 From the assistant's own periodic check:" }
        return origin.conversation == key ? nil : "▶ USER: \(text)"
      }
      // Not at once: first of all the message goes to the agent.
      runNumber += 1
      let number = runNumber
      taskScope.add(on: EventLoop.shared) { [self, timekeeper] in
        if await timekeeper.sleep(for: Self.slowStart) { post(.runIsSlow(number)) }
      }
    case .agentStarted: await startTyping()
    case .text(let text):
      guard settings.output != .final else { return }
      await flushTools()
      stream.append(text, through: redaction)
      if capabilities.edit == true { await showSoon() }
    case .messageEnded(let message): await end(message)
    case .toolStarted(let id, let name, let arguments):
      running[id] = FormatTool.Call(name: name, arguments: arguments)
      taskScope.add(on: EventLoop.shared) { [self, timekeeper] in
        if await timekeeper.sleep(for: Self.slowTool) { post(.toolIsSlow(id)) }
      }
    case .toolEnded(let id, let name, let failed, let images):
      await endTool(id, name, failed: failed, images)
    case .notice(let text):
      await breakStream()
      await say(text, .notice)
    case .progress(let kind, let text, let isOver): await show(kind, text, isOver: isOver)
    case .timedOut(_, let limit):
      await breakStream()
      await say("The run took longer than \(limit.forPeople) and is stopped.", .notice)
    case .messageGiven: await showEcho()
    case .dialogOpened, .dialogWithdrawn, .questionsOver, .nameOrModelChanged, .messageMayBeTaken: break
    case .runEnded(let message, let end, let conclusion):
      // A message withdrawn elsewhere before it ran was never seen here.
      let isUnseen = echo != nil && (end == .aborted || end == .withdrawn)
      if isUnseen { echo = nil } else { await showEcho() }
      await endRun(end, isUnseen: isUnseen)
      if isIncomplete, end == .completed {
        await tellGivenUp("Part of this answer could not be shown here; the session has it all.")
      }
      let outcome = isIncomplete && end == .completed ? .failed : end.outcome
      isIncomplete = false
      if let message, message.conversation == key {
        await delivery.end(MessageEnd(message, conclusion, outcome: outcome))
      }
    case .messageTaken(let message):
      if message.conversation == key { await delivery.end(MessageEnd(message, .takenIntoRun)) }
    case .messageWithdrawn(let message):
      if message.conversation == key { await delivery.end(MessageEnd(message, .withdrawn)) }
    case .messageNotTaken(let message):
      guard message.conversation == key else { return }
      await handle(.report(RunEnd.notTaken, MessageEnd(message, .notTaken)))
    }
  }

  // MARK: - The answer

  /// Looks whether another life of the messenger has begun.
  func meetMessenger() {
    guard let present = delivery.holder.current, present !== link else { return }
    link = present
    capabilities = present.capabilities
    if let messenger = present.messenger { settings = Settings(messenger, conversation) }
  }

  var limit: Int {
    let most = capabilities.maximumTextLength ?? Self.usualLimit
    return max(50, most - most / 20)
  }

  var changesQuestions: Bool { capabilities.buttons != nil || capabilities.edit == true }

  var editInterval: Duration {
    let shortest = capabilities.minimumEditInterval.map { Duration.milliseconds($0) }
    return settings.editInterval ?? shortest ?? Self.usualEditInterval
  }

  /// The conversation turns to another session: what was under way here is brought to an end.
  func detach() async {
    stream.release(through: redaction)
    if !stream.isEmpty { await flush(final: true) }
    beginStream()
    running = [:]
    finished = []
    await removeProgress()
    for (id, sent) in dialogs { await delivery.closeDialog(id, shown: sent, text: "(moved to another session)") }
    dialogs = [:]
    await stopTyping()
  }

  private func startTyping() async {
    guard !isTyping else { return }
    isTyping = true
    await delivery.typing(true)
  }

  /// Whether or not this program has begun it.
  private func stopTyping() async {
    runNumber += 1
    isTyping = false
    await delivery.typing(false)
  }

  private func showEcho() async {
    if let echo { await say(echo, .echo) }
    echo = nil
  }

  func endRun(_ end: RunEnd, isUnseen: Bool) async {
    stream.release(through: redaction)
    if !stream.isEmpty {
      await flush(final: true)
      beginStream()
    }
    await flushTools()
    await removeProgress()
    running = [:]
    await stopTyping()
    switch end {
    case .completed: break
    case .handled: await say("✓ Done by the agent itself, without an answer.", .notice)
    case .aborted: if !isUnseen { await say("⏹ Stopped.", .notice) }
    case .withdrawn: if !isUnseen { await say(RunEnd.notTaken, .notice) }
    case .failed(let why): await say("❌ \(why)", .notice)
    case .forgotten(let why, let message):
      let buttons = message.conversation == key ? RunAgainButton.rows(for: message, within: capabilities.buttons) : nil
      // In one step: wherever the button can be pressed, the words are kept.
      await say(
        "❌ \(why)", .notice, buttons: buttons,
        ending: buttons == nil ? nil : MessageEnd(message, .interrupted, keepsWords: true))
    }
  }

  // MARK: - Notices and questions

  /// The text that closes a question in messages of its own; `nil` where the messenger can change the question.
  func below(_ text: String) -> [String]? {
    changesQuestions
      ? nil : PlainText.split(text, limit: limit, unit: capabilities.lengthUnit ?? .utf16).map(\.text)
  }

  /// - Parameter ending: the message whose end this reports.
  /// - Returns: false when it could not be recorded.
  @discardableResult
  func say(
    _ text: String, _ role: MessageRole, buttons: [[Button]]? = nil, replyTo: String? = nil,
    ending: MessageEnd? = nil
  ) async -> Bool {
    let unit = capabilities.lengthUnit ?? .utf16
    let pieces = PlainText.split(redaction.apply(to: text), limit: limit, unit: unit)
    let records = pieces.enumerated().map { index, piece in
      delivery.compose(
        piece.text, role: role, buttons: index == pieces.count - 1 ? buttons : nil,
        replyTo: replyTo)
    }
    guard await delivery.record(records, ending: ending) else { return false }
    for record in records { _ = await delivery.sendRecorded(record) }
    return true
  }

  func ask(_ record: DialogRecord) async {
    await breakStream()
    await flushTools()
    let question = record.question(in: capabilities.dialect ?? "plain", through: redaction)
    let sent = await delivery.show(
      DialogShow(
        key: UUID().uuidString, conversation: key.conversation, dialog: record.id, kind: record.kind,
        text: question, buttons: record.buttons(within: capabilities.buttons, through: redaction),
        prefill: prefill(of: record),
        expires: record.expires))
    dialogs[record.id] = sent
    guard sent == nil, !Task.isCancelled else { return }
    // The agent waits for the answer: what cannot be shown with its buttons may do without, in words and pieces.
    await tellGivenUp("The question below could not be shown as it should be; answer it in words.")
    let pieces = PlainText.split(question, limit: limit, unit: capabilities.lengthUnit ?? .utf16)
    for piece in pieces { dialogs[record.id] = await delivery.send(delivery.compose(piece.text, role: .dialog)) }
  }

  /// Something in place of what is to be redacted would come back as the answer.
  private func prefill(of record: DialogRecord) -> String? {
    record.dialog.prefill.flatMap { redaction.apply(to: $0) == $0 ? $0 : nil }
  }

  /// Says in the conversation that something was given up, where that is wanted.
  func tellGivenUp(_ text: String) async {
    if delivery.settings.tellsConversations { await say("⚠️ \(text)", .notice) }
  }
}
