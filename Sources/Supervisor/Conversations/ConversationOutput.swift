package import ContentServices
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
  private let delivery: MessageSender
  private let redaction: Redactor
  private let taskScope: TaskScope
  private let notices: NoticeSender
  private let files: FileSender
  private let answer: AnswerPresenter
  private let progress: ProgressPresenter
  private let questions: QuestionPresenter
  private let recovery: OutputRecovery
  private var profile: MessengerProfile
  private var display = RunDisplay()
  private var typing = TypingIndicator()
  private var gate = SnapshotGate()

  /// An agent that takes longer to begin is typing meanwhile.
  private static let slowStart: Duration = .milliseconds(300)
  /// A tool that runs longer is mentioned while it runs.
  private static let slowTool: Duration = .milliseconds(500)

  package init(
    conversation: Conversation, delivery: MessageSender, capabilities: Capabilities, settings: Settings,
    services: Services,
    redaction: Redactor, checkpoints: StreamCheckpoints, taskScope: TaskScope
  ) {
    self.delivery = delivery
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
    notices = NoticeSender(delivery: delivery, redaction: redaction)
    files = FileSender(delivery: delivery)
    answer = AnswerPresenter(delivery, services, redaction, checkpoints, reminders)
    progress = ProgressPresenter(delivery, services, redaction, notices, answer)
    questions = QuestionPresenter(delivery, redaction, notices)
    recovery = OutputRecovery(
      delivery: delivery, services: services, checkpoints: checkpoints, notices: notices, files: files,
      answer: answer, questions: questions)
  }

  nonisolated var key: ConversationKey { delivery.conversation }

  /// Queues something; never waits.
  package nonisolated func post(_ event: OutputEvent) { items.post(.output(event)) }

  package nonisolated func close() { items.close() }

  /// Says nothing more until `resume`.
  ///
  /// - Returns: `nil` when something waits, or is being shown.
  package func takeSnapshot(
    _ conversation: Conversation, session: String?, view: SessionSubscriptions.View
  ) -> ConversationSnapshot? {
    guard gate.isQuiet(isAwaited: items.isAwaited, isEmpty: items.isEmpty) else { return nil }
    gate.close()
    if answer.takeIncomplete() { display.becomeIncomplete() }
    return ConversationSnapshot(
      key: key, conversation: conversation, session: session, view: view, capabilities: profile.capabilities,
      settings: profile.settings, answer: answer.snapshot, tools: progress.tools, questions: questions.shown,
      display: display)
  }

  package func resume() { gate.open() }

  package func adopt(_ snapshot: ConversationSnapshot) {
    progress.adopt(snapshot.tools)
    questions.adopt(snapshot.questions)
    display = snapshot.display
    answer.adopt(snapshot.answer, in: profile)
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
    case .timer(.toolIsSlow(let id)): await progress.toolIsSlow(id, in: profile)
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
      // A message whose end is not stored has not ended: the next daemon continues with it.
      if await say(text, .notice, buttons: buttons, replyTo: end.interaction, ending: end) { await delivery.tell(end) }
    case .change(let message, let text, let buttons, let end):
      await answer.flushBeforeNotice(in: profile)
      if await delivery.change(message, redaction.apply(to: text), buttons, ending: end) { await delivery.tell(end) }
    case .end(let end):
      // The next output need not wait for the disk: ends that come together share a commit.
      if items.isEmpty { return await delivery.endMessage(end) }
      gate.endBegan()
      taskScope.add(on: EventLoop.shared) { [self] in
        await delivery.endMessage(end)
        await finishEnd()
      }
    case .tell(let end): await delivery.tell(end)
    case .resume(let unfinished): await recovery.complete(unfinished, in: profile)
    case .ask(let record):
      await answer.flushBeforeNotice(in: profile)
      await progress.flush(in: profile)
      await questions.ask(record, in: profile)
    case .askedElsewhere(let record, let session):
      let title = redaction.line(record.dialog.title, limit: 200)
      await answer.flushBeforeNotice(in: profile)
      await say("❓ The session \(session), which you left, asks: \(title)\nTo answer: /use \(session)", .notice)
    case .settleDialog(let record, let outcome): await questions.settleQuestion(record, outcome, in: profile)
    case .detached: await detach()
    }
  }

  private func handle(_ event: SessionEvent) async {
    switch event {
    case .runStarted(let origin, let text):
      display.beginRun(origin, text: text, in: key)
      // Not at once: first of all the message goes to the agent.
      reminders.add(.runIsSlow(typing.runBegan()), after: Self.slowStart)
    case .typed(let text):
      await answer.flushBeforeNotice(in: profile)
      await say("▶ USER: \(text)", .echo)
    case .agentStarted: if typing.start() { await delivery.typing(true) }
    case .text(let text):
      guard profile.settings.output != .final else { return }
      await progress.flush(in: profile)
      await answer.append(text, in: profile)
    case .messageEnded(let message): await show(message)
    case .toolStarted(let id, let name, let arguments):
      progress.startTool(id, FormatTool.Call(name: name, arguments: arguments))
      reminders.add(.toolIsSlow(id), after: Self.slowTool)
    case .toolEnded(let id, let name, let failed, let images):
      await progress.endTool(id, name, failed: failed)
      if profile.settings.images == .automatic { for image in images { await show(image, from: name) } }
    case .notice(let text):
      await answer.flushBeforeNotice(in: profile)
      await say(text, .notice)
    case .progress(let kind, let text, let isOver): await progress.show(kind, text, isOver: isOver, in: profile)
    case .timedOut(_, let limit):
      await answer.flushBeforeNotice(in: profile)
      await say("The run took longer than \(limit.forPeople) and is stopped.", .notice)
    case .messageGiven: await showEcho()
    case .dialogOpened, .dialogWithdrawn, .questionsOver, .nameOrModelChanged, .messageMayBeTaken, .closed: break
    case .runEnded(var message, let end):
      let isUnseen = display.dropsEcho(of: end)
      if !isUnseen { await showEcho() }
      await endRun(message, end, isUnseen: isUnseen)
      if answer.takeIncomplete() { display.becomeIncomplete() }
      if display.isIncomplete, end == .completed {
        await notices.tellGivenUp(
          "Part of this answer could not be shown here; the session has it all.", in: profile)
      }
      message.outcome = display.endRun() && end == .completed ? .failed : end.outcome
      if message.key.conversation == key { await delivery.endMessage(message) }
    case .messageTaken(let message), .messageDropped(let message):
      if message.key.conversation == key { await delivery.endMessage(message) }
    case .messageNotTaken(let message):
      if message.key.conversation == key { await handle(OutputEvent.report(RunEnd.notTaken, message)) }
    }
  }

  // MARK: - Runs

  /// The conversation turns to another session: everything under way here is completed or removed.
  private func detach() async {
    if answer.endText(with: nil) { await answer.finish(in: profile) }
    answer.startNext()
    await progress.detach()
    await questions.detach()
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
    if answer.endText(with: text) {
      await progress.flush(in: profile)
      await answer.finish(in: profile)
      if !profile.fits(text, messages: Self.maximumMessages) { await files.send(answer: text) }
    }
    answer.startNext()
  }

  private func showEcho() async {
    if let echo = display.takeEcho() { await say(echo, .echo) }
  }

  private func endRun(_ message: MessageEnd, _ end: RunEnd, isUnseen: Bool) async {
    if answer.endText(with: nil) {
      await answer.finish(in: profile)
      answer.startNext()
    }
    await progress.endRun(in: profile)
    await stopTyping()
    switch end {
    case .completed: break
    case .handled: await say("✓ Done. The agent gave no answer.", .notice)
    case .aborted: if !isUnseen { await say("⏹ Stopped.", .notice) }
    case .withdrawn: if !isUnseen { await say(RunEnd.notTaken, .notice) }
    case .failed(let why): await say("❌ \(why)", .notice)
    case .forgotten(let why):
      let buttons =
        message.key.conversation == key
        ? RunAgainButton.rows(for: message.key, within: profile.capabilities.buttons) : nil
      var ending = message
      ending.keepsWords = true
      // In one step: wherever the button can be pressed, the words are kept.
      await say("❌ \(why)", .notice, buttons: buttons, ending: buttons == nil ? nil : ending)
    }
  }

  private func show(_ image: PiImage, from tool: String) async {
    let isSent = await files.send(image, from: tool)
    if isSent == false, !Task.isCancelled { display.becomeIncomplete() }
  }

  @discardableResult
  private func say(
    _ text: String, _ role: MessageRole, buttons: [[Button]]? = nil, replyTo: String? = nil, ending: MessageEnd? = nil
  ) async -> Bool {
    await notices.say(text, role, buttons: buttons, replyTo: replyTo, ending: ending, in: profile)
  }
}
