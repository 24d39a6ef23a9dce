internal import AgentSessions
package import ContentServices
internal import FoundationEssentials
package import MessageDelivery
internal import PiRPC
internal import PluginRuntime
package import RelayConcurrency
package import RelayConfig
internal import RelayModel
package import RelayText
internal import RelayTransport
package import RelayWire
internal import SessionStates

/// Everything that goes to one conversation, one thing after another: the answer as it streams, tools, notices and
/// questions.
package actor ConversationOutput {
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

  private nonisolated let items: Mailbox<OutputItem>
  private let reminders: OutputReminders
  let delivery: MessageSender
  let services: Services
  let redaction: Redactor
  let checkpoints: StreamCheckpoints
  private let taskScope: TaskScope
  let answer: AnswerPresenter
  private(set) var profile: MessengerProfile
  var tools = ToolProgress()
  private var questions = ShownQuestions()
  var display = RunDisplay()
  private var typing = TypingIndicator()
  private var gate = SnapshotGate()

  /// An agent that takes longer to begin is typing meanwhile.
  static let slowStart: Duration = .milliseconds(300)
  /// A tool that runs longer is mentioned while it runs.
  static let slowTool: Duration = .milliseconds(500)

  package init(
    conversation: Conversation, delivery: MessageSender, capabilities: Capabilities, settings: Settings,
    services: Services,
    redaction: Redactor, checkpoints: StreamCheckpoints, taskScope: TaskScope
  ) {
    self.checkpoints = checkpoints
    self.delivery = delivery
    self.services = services
    self.redaction = redaction
    self.taskScope = taskScope
    profile = MessengerProfile(conversation, capabilities, settings)
    items = Mailbox(limit: OutputBacklog.limit, compact: OutputBacklog.compact) { last, new in
      guard case .output(.event(.text(let more))) = new, case .output(.event(.text(let text))) = last else {
        return false
      }
      last = .output(.event(.text(text + more)))
      return true
    }
    reminders = OutputReminders(items: items, taskScope: taskScope, timeSource: delivery.timeSource)
    answer = AnswerPresenter(delivery, services, redaction, checkpoints, reminders)
  }

  nonisolated var key: ConversationKey { delivery.conversation }

  /// Queues something; never waits.
  package nonisolated func post(_ event: OutputEvent) { items.post(.output(event)) }

  package nonisolated func close() { items.close() }

  /// Says nothing more until `resume`.
  ///
  /// - Returns: `nil` when something waits, or is being shown.
  package func hold(
    _ conversation: Conversation, session: String?, view: SessionSubscriptions.View
  ) -> ConversationHandover? {
    guard gate.isQuiet(isAwaited: items.isAwaited, isEmpty: items.isEmpty) else { return nil }
    gate.close()
    if answer.takeIncomplete() { display.becomeIncomplete() }
    return ConversationHandover(
      key: key, conversation: conversation, session: session, view: view, capabilities: profile.capabilities,
      settings: profile.settings, answer: answer.snapshot, tools: tools, questions: questions, display: display)
  }

  package func resume() { gate.open() }

  package func adopt(_ handover: ConversationHandover) {
    tools = handover.tools
    questions = handover.questions
    display = handover.display
    answer.adopt(handover.answer, in: profile)
  }

  package func run() async {
    while let item = await items.next() {
      let isTimer = if case .timer = item { true } else { false }
      if gate.holds(timer: isTimer) {
        await withCheckedContinuation { gate.wait($0) }
        gate.passed()
      }
      await handle(item)
    }
  }

  private func handle(_ item: OutputItem) async {
    if let link = delivery.holder.current { profile.update(from: link, link.capabilities, link.messenger) }
    switch item {
    case .output(let event): await handle(event)
    case .timer(.flush(let number)): await answer.timerFired(number, in: profile)
    case .timer(.toolIsSlow(let id)): await showProgress(of: id)
    case .timer(.runIsSlow(let number)): if typing.runIsSlow(number) { await delivery.typing(true) }
    case .leftOut(let tools, let messages):
      await answer.flushBeforeNotice(in: profile)
      await say(
        "… Not shown, because this messenger was away for long: \(messages) messages and \(tools) tool calls. "
          + "The session has them all.", .notice)
    }
  }

  private func handle(_ event: OutputEvent) async {
    switch event {
    case .event(let event): await handle(event)
    case .say(let text, let role, let buttons, let replyTo):
      await answer.flushBeforeNotice(in: profile)
      await say(text, role, buttons: buttons, replyTo: replyTo)
    case .report(let text, let end, let buttons):
      await answer.flushBeforeNotice(in: profile)
      // A message whose end is not stored has not ended: the next daemon goes on with it.
      if await say(text, .notice, buttons: buttons, replyTo: end.interaction, ending: end) { await delivery.tell(end) }
    case .change(let message, let text, let buttons, let end):
      await answer.flushBeforeNotice(in: profile)
      if await delivery.change(message, redaction.apply(to: text), buttons, ending: end) { await delivery.tell(end) }
    case .end(let end):
      // The next output need not wait for the disk: ends that come together share a commit.
      if items.isEmpty { return await delivery.end(end) }
      gate.endBegan()
      taskScope.add(on: EventLoop.shared) { [self] in
        await delivery.end(end)
        await finishEnd()
      }
    case .tell(let end): await delivery.tell(end)
    case .resume(let unfinished): await resume(unfinished)
    case .ask(let record): await ask(record)
    case .askedElsewhere(let record, let session):
      let title = redaction.line(record.dialog.title, limit: 200)
      await answer.flushBeforeNotice(in: profile)
      await say("❓ The session \(session), which you left, asks: \(title)\nTo answer: /use \(session)", .notice)
    case .settleDialog(let record, let outcome):
      if let sent = questions.take(record.id) {
        let isAnswered = if case .answered = outcome { true } else { false }
        let text = record.closing(outcome, through: redaction)
        await delivery.closeDialog(record.id, shown: sent, text: text, below: isAnswered ? nil : below(text))
      }
    case .detached: await detach()
    }
  }

  func handle(_ event: SessionEvent) async {
    switch event {
    case .runStarted(let origin, let text):
      display.begin(origin, text: text, in: key)
      // Not at once: first of all the message goes to the agent.
      reminders.add(.runIsSlow(typing.runBegan()), after: Self.slowStart)
    case .agentStarted: if typing.start() { await delivery.typing(true) }
    case .text(let text):
      guard profile.settings.output != .final else { return }
      await flushTools()
      await answer.append(text, in: profile)
    case .messageEnded(let message): await show(message)
    case .toolStarted(let id, let name, let arguments):
      tools.start(id, FormatTool.Call(name: name, arguments: arguments))
      reminders.add(.toolIsSlow(id), after: Self.slowTool)
    case .toolEnded(let id, let name, let failed, let images):
      await endTool(id, name, failed: failed, images)
    case .notice(let text):
      await answer.flushBeforeNotice(in: profile)
      await say(text, .notice)
    case .progress(let kind, let text, let isOver): await show(kind, text, isOver: isOver)
    case .timedOut(_, let limit):
      await answer.flushBeforeNotice(in: profile)
      await say("The run took longer than \(limit.forPeople) and is stopped.", .notice)
    case .messageGiven: await showEcho()
    case .dialogOpened, .dialogWithdrawn, .questionsOver, .nameOrModelChanged, .messageMayBeTaken: break
    case .runEnded(let message, let end, let conclusion):
      let isUnseen = display.dropsEcho(of: end)
      if !isUnseen { await showEcho() }
      await endRun(end, isUnseen: isUnseen)
      if answer.takeIncomplete() { display.becomeIncomplete() }
      if display.isIncomplete, end == .completed {
        await tellGivenUp("Part of this answer could not be shown here; the session has it all.")
      }
      let outcome = display.end() && end == .completed ? .failed : end.outcome
      if let message, message.conversation == key {
        await delivery.end(MessageEnd(message, conclusion, outcome: outcome))
      }
    case .messageTaken(let message):
      if message.conversation == key { await delivery.end(MessageEnd(message, .takenIntoRun)) }
    case .messageWithdrawn(let message):
      if message.conversation == key { await delivery.end(MessageEnd(message, .withdrawn)) }
    case .messageNotTaken(let message):
      guard message.conversation == key else { return }
      await handle(OutputEvent.report(RunEnd.notTaken, MessageEnd(message, .notTaken)))
    }
  }

  // MARK: - Runs

  /// The conversation turns to another session: what was under way here is brought to an end.
  func detach() async {
    if answer.end(with: nil) { await answer.finish(in: profile) }
    answer.startNext()
    tools.detach()
    await removeProgress()
    for (id, sent) in questions.takeAll() {
      await delivery.closeDialog(id, shown: sent, text: "(moved to another session)")
    }
    await stopTyping()
  }

  private func stopTyping() async {
    typing.stop()
    await delivery.typing(false)
  }

  private func finishEnd() { gate.endFinished() }

  /// An answer of more messages than this comes as a file, too, with its tables as they were written.
  private static let maximumMessages = 5

  private func show(_ message: PiMessage) async {
    let text = redaction.apply(to: message.text)
    if answer.end(with: text) {
      await flushTools()
      await answer.finish(in: profile)
      if !profile.fits(text, messages: Self.maximumMessages) { await sendAsFile(text) }
    }
    answer.startNext()
  }

  private func showEcho() async {
    if let echo = display.takeEcho() { await say(echo, .echo) }
  }

  func endRun(_ end: RunEnd, isUnseen: Bool) async {
    if answer.end(with: nil) {
      await answer.finish(in: profile)
      answer.startNext()
    }
    await flushTools()
    await removeProgress()
    tools.runEnded()
    await stopTyping()
    switch end {
    case .completed: break
    case .handled: await say("✓ Done by the agent itself, without an answer.", .notice)
    case .aborted: if !isUnseen { await say("⏹ Stopped.", .notice) }
    case .withdrawn: if !isUnseen { await say(RunEnd.notTaken, .notice) }
    case .failed(let why): await say("❌ \(why)", .notice)
    case .forgotten(let why, let message):
      let buttons =
        message.conversation == key ? RunAgainButton.rows(for: message, within: profile.capabilities.buttons) : nil
      // In one step: wherever the button can be pressed, the words are kept.
      await say(
        "❌ \(why)", .notice, buttons: buttons,
        ending: buttons == nil ? nil : MessageEnd(message, .interrupted, keepsWords: true))
    }
  }

  // MARK: - Notices and questions

  /// The text that closes a question in messages of its own; `nil` where the messenger can change the question.
  func below(_ text: String) -> [String]? {
    profile.editsQuestions
      ? nil : PlainText.split(text, limit: profile.limit, unit: profile.unit).map(\.text)
  }

  /// - Parameter ending: the message whose end this reports.
  /// - Returns: false when it could not be recorded.
  @discardableResult
  func say(
    _ text: String, _ role: MessageRole, buttons: [[Button]]? = nil, replyTo: String? = nil,
    ending: MessageEnd? = nil
  ) async -> Bool {
    let pieces = PlainText.split(redaction.apply(to: text), limit: profile.limit, unit: profile.unit)
    let records = pieces.enumerated().map { index, piece in
      delivery.compose(
        piece.text, role: role, buttons: index == pieces.count - 1 ? buttons : nil,
        replyTo: replyTo)
    }
    guard await delivery.record(records, ending: ending) else { return false }
    for record in records { _ = await delivery.sendRecorded(record) }
    return true
  }

  func ask(_ record: PendingQuestion) async {
    await answer.flushBeforeNotice(in: profile)
    await flushTools()
    let question = record.question(in: profile.dialect, through: redaction)
    let sent = await delivery.show(
      DialogShow(
        key: UUID().uuidString, conversation: key.conversation, dialog: record.id, kind: record.kind,
        text: question, buttons: record.buttons(within: profile.capabilities.buttons, through: redaction),
        prefill: prefill(of: record),
        expires: record.expires))
    questions.show(record.id, sent)
    guard sent == nil, !Task.isCancelled else { return }
    // The agent waits for the answer: what cannot be shown with its buttons may do without, in words and pieces.
    await tellGivenUp("The question below could not be shown as it should be; answer it in words.")
    let pieces = PlainText.split(question, limit: profile.limit, unit: profile.unit)
    for piece in pieces {
      questions.show(record.id, await delivery.send(delivery.compose(piece.text, role: .dialog)))
    }
  }

  /// Something in place of what is to be redacted would come back as the answer.
  private func prefill(of record: PendingQuestion) -> String? {
    record.dialog.prefill.flatMap { redaction.apply(to: $0) == $0 ? $0 : nil }
  }

  /// Says in the conversation that something was given up, where that is wanted.
  func tellGivenUp(_ text: String) async {
    if delivery.settings.tellsConversations { await say("⚠️ \(text)", .notice) }
  }
}
