internal import AgentSessions
internal import Approvals
internal import Assistant
internal import ChatCommands
internal import ConversationSessions
internal import Conversations
internal import Logging
internal import Pairings
internal import PiRPC
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayWire
internal import SessionCatalog
internal import SessionStates
internal import ToolApprovals

/// Decides what an arrival is: a command, the answer to a question, or a prompt; and has it carried out. One conversation's
/// arrivals come one after another.
final class MessageDispatcher: Sendable {
  let store: SQLiteStore
  let sessions: SessionRegistry
  let directory: ConversationDirectory
  let bindings: SessionBindings
  let prompts: PromptRouter
  private let subscriptions: SessionSubscriptions
  private let questions: QuestionRegistry
  let threads: ThreadSessions
  private let approvals: ApprovalDesk
  let pairing: PairingDesk
  let logger: Logger

  init(
    store: SQLiteStore, sessions: SessionRegistry, directory: ConversationDirectory, bindings: SessionBindings,
    prompts: PromptRouter, threads: ThreadSessions, subscriptions: SessionSubscriptions, questions: QuestionRegistry,
    approvals: ApprovalDesk, pairing: PairingDesk, logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.directory = directory
    self.bindings = bindings
    self.prompts = prompts
    self.threads = threads
    self.subscriptions = subscriptions
    self.questions = questions
    self.approvals = approvals
    self.pairing = pairing
    self.logger = logger
  }

  /// - Parameter recovered: continues a message of an earlier daemon.
  func process(
    _ arrival: Arrival, _ key: ConversationKey,
    recovered: (UnfinishedMessage, PluginConnection, ConversationKey) async -> Void
  ) async {
    // It was stored while the person was still admitted.
    if bindings.rights(of: key) == .revoked, refuse(arrival, key) { return }
    switch arrival {
    case .message(let message, let link): await process(message, link)
    case .action(let action, let link): await process(action, link)
    case .finding(let message, let link): await process(finding: message, link)
    case .edit(let edit, let waiting): await process(edit, waiting, key)
    case .deletion(let deletion): await process(deletion, key)
    case .recovered(let unfinished, let link): await recovered(unfinished, link, key)
    }
  }

  /// - Returns: false for what ends in its own way.
  private func refuse(_ arrival: Arrival, _ key: ConversationKey) -> Bool {
    switch arrival {
    case .message(let message, _), .finding(let message, _):
      directory.endMessage(MessageKey(conversation: key, id: message.id), .refused)
    case .action(let action, _):
      directory.endMessage(MessageKey(conversation: key, id: MessageOrigin.action(action.id).id), .refused)
    case .recovered: return false
    case .edit, .deletion: break
    }
    return true
  }

  // MARK: - Messages

  func process(_ message: MessageReceived, _ link: PluginConnection) async {
    let key = link.key(message.conversation)
    let messageKey = MessageKey(conversation: key, id: message.id)
    if case .command(let command, let arguments) = CommandLineText(message) {
      return await CommandRun(command, arguments, message, link, self).run()
    }
    if Self.mayAnswer(message), let reply = ApprovalReply(message.text) {
      return await decide(reply, by: message.sender, messageKey)
    }
    if Self.mayAnswer(message), let session = await bindings.id(of: key),
      let record = subscriptions.question(to: key, message.text), record.session == session
    {
      guard await beginHandling(messageKey) else {
        return directory.say(Self.notStored, to: key)
      }
      return await answer(record, message, key)
    }
    if message.text.trimmingWhitespace().lowercased() == "/cancel" {
      return directory.endMessage(messageKey, saying: "There is no open question to cancel.")
    }
    if let reply = await prompts.submit(message, link, as: link.settings(of: message.conversation).busy ?? .followUp) {
      directory.say(reply, to: key)
    }
  }

  /// True for a person's own words, which answer a waiting question. A message that is run again answers none.
  static func mayAnswer(_ message: MessageReceived) -> Bool {
    if case .action = MessageOrigin(id: message.id) { return false }
    return message.forwarded != true && !message.text.trimmingWhitespace().isEmpty
  }

  /// A finding is for the owner's own session, and answers no question. Where the owner has turned to another session, the
  /// finding itself is shown.
  func process(finding message: MessageReceived, _ link: PluginConnection) async {
    let key = link.key(message.conversation)
    if let session = await bindings.listing(of: key), session.role != .owner {
      return directory.endMessage(
        MessageKey(conversation: key, id: message.id), saying: "💓 \(PeriodicCheck.finding(in: message))")
    }
    // Nobody has asked: the finding is labelled, before its answer and while it waits.
    guard await prompts.submit(message, link, as: .followUp) != nil else { return }
    directory.say("💓 The assistant's periodic check found something. You will see it when the agent is done.", to: key)
  }

  // MARK: - Edits and deletions

  private func process(_ edit: MessageEdited, _ waiting: MessageReceived?, _ key: ConversationKey) async {
    let message =
      waiting ?? MessageReceived(id: edit.id, conversation: edit.conversation, sender: edit.sender, text: edit.text)
    let messageKey = MessageKey(conversation: key, id: edit.id)
    guard let words = CommandLineText.prompt(of: message) else {
      guard await changeWaiting({ await $0.holds(messageKey) }) != .unknown else { return }
      return directory.say(
        "✏️ A waiting message cannot become a command. Send the command as a message of its own.", to: key)
    }
    let change = await changeWaiting { [prompts] session in
      guard await session.holds(messageKey) != .unknown else { return .unknown }
      return await session.replace(messageKey, text: await prompts.text(of: words, for: session), typed: words.text)
    }
    switch change {
    case .done:
      // The store may not know yet that the message waits again: the agent ended before it took it.
      if waiting == nil { await store(text: edit.text, of: messageKey) }
      directory.say("✏️ The waiting message was replaced.", to: key)
    case .tooLate: directory.say("✏️ Too late to change: the agent has that message. Write a new one.", to: key)
    case .unchanged, .unknown: break
    }
  }

  private func store(text: String, of key: MessageKey) async {
    do { _ = try await store.replace(key, text: text) } catch {
      logger.with(key.conversation).error("the changed text of a waiting message was not stored: \(error)")
    }
  }

  private func process(_ deletion: MessageDeleted, _ key: ConversationKey) async {
    let change = await changeWaiting { session in
      await session.withdraw(MessageKey(conversation: key, id: deletion.id))
    }
    switch change {
    case .done: directory.say("🗑️ The waiting message was withdrawn.", to: key)
    case .tooLate: directory.say("🗑️ Too late to withdraw: the agent has that message. /stop stops it.", to: key)
    case .unchanged, .unknown: break
    }
  }

  /// Changes a message in the session that has it: the conversation may have turned to another since.
  private func changeWaiting(_ change: (Session) async -> MessageChange) async -> MessageChange {
    for session in await sessions.awake() {
      let outcome = await change(session)
      if outcome != .unknown { return outcome }
    }
    return .unknown
  }

  // MARK: - Answers to questions

  private func answer(_ record: PendingQuestion, _ message: MessageReceived, _ key: ConversationKey) async {
    switch record.read(message.text) {
    case .unclear(let hint): directory.say(hint, to: key)
    case .answer(let answer, let label): await settleQuestion(record, answer, label, by: message.sender, key)
    }
    defer { directory.endMessage(MessageKey(conversation: key, id: message.id)) }
    // Files that came with an answer are a message of their own, not lost.
    if let attachments = message.attachments, !attachments.isEmpty, let link = directory.link(key.instance) {
      var rest = message
      rest.id = MessageOrigin.filesOfAnswer(message.id).id
      rest.text = ""
      let stored = StoredMessage(key: MessageKey(conversation: key, id: rest.id), message: rest)
      do {
        if try await store.accept(stored, state: nil),
          let reply = await prompts.submit(rest, link, as: .followUp)
        {
          directory.say(reply, to: key)
        }
      } catch {
        logger.with(key).error("files that came with an answer could not be stored: \(error)")
      }
    }
  }

  /// Decides about a tool call in words.
  private func decide(_ reply: ApprovalReply, by sender: Sender, _ message: MessageKey) async {
    guard await beginHandling(message) else { return directory.say(Self.notStored, to: message.conversation) }
    defer { directory.endMessage(message) }
    guard let record = questions.record(reply.id), record.approval != nil else {
      return directory.say(ApprovalDesk.notOpen, to: message.conversation)
    }
    let label = SupervisorQuestion.Answer.approval(reply.decision).label
    await settleQuestion(record, .value(label), label, by: sender, message.conversation)
  }

  /// The reason why an answer about a tool call has no effect; `nil` for an answer that has, and for other questions.
  private func refusal(
    of answer: PiDialogAnswer, to record: PendingQuestion, by sender: Sender, _ key: ConversationKey
  ) async -> String? {
    guard record.approval != nil else { return nil }
    // Also one that is not offered, which the person is told.
    let decision = ApprovalDecision.allCases.first { answer == .value(SupervisorQuestion.Answer.approval($0).label) }
    return await approvals.refusal(
      of: decision ?? .deny, on: record.id, by: Requester(conversation: key, person: sender.id))
  }

  private static let notStored =
    "⚠️ Your answer was not passed on, because nothing can be stored. Answer again later."

  private func settleQuestion(
    _ record: PendingQuestion, _ answer: PiDialogAnswer, _ label: String, by sender: Sender, _ key: ConversationKey
  ) async {
    if let refusal = await refusal(of: answer, to: record, by: sender, key) { return directory.say(refusal, to: key) }
    guard questions.claim(record.id) != nil else {
      return directory.say("That question is already settled.", to: key)
    }
    guard let session = await sessions.session(record.session), await session.answer(record.dialog.id, answer) else {
      return subscriptions.settleQuestion(record, .unanswered(why: "the agent no longer waits for an answer"))
    }
    subscriptions.settleQuestion(record, .answered(label, by: sender.name))
  }

  // MARK: - Buttons

  private func process(_ action: ActionInvoked, _ link: PluginConnection) async {
    let key = link.key(action.conversation)
    if let line = SessionMenu.command(ofButton: action.action) { return await choose(line, action, link, key) }
    let messageKey = MessageKey(conversation: key, id: MessageOrigin.action(action.id).id)
    guard let (record, reading) = questions.reading(of: action), record.session == (await bindings.id(of: key))
    else {
      let text =
        if action.action.hasPrefix(ApprovalReply.idPrefix) {
          ApprovalDesk.notOpen
        } else if RunAgainButton.message(of: action, in: key) == nil {
          "That question is already settled."
        } else {
          "That message is already running again, or is no longer kept. Write it again if you still want it."
        }
      return directory.endMessage(messageKey, saying: text)
    }
    guard await beginHandling(messageKey) else {
      return directory.say(Self.notStored, to: key)
    }
    switch reading {
    case .unclear(let hint): directory.say(hint, to: key)
    case .answer(let answer, let label): await settleQuestion(record, answer, label, by: action.sender, key)
    }
    directory.endMessage(messageKey)
  }

  /// Carries out the command of a menu's button. The command's answer replaces the menu.
  private func choose(_ line: String, _ action: ActionInvoked, _ link: PluginConnection, _ key: ConversationKey) async {
    let message = MessageReceived(
      id: MessageOrigin.action(action.id).id, conversation: action.conversation, sender: action.sender, text: line)
    let messageKey = MessageKey(conversation: key, id: message.id)
    guard case .command(let command, let arguments) = CommandLineText(message) else {
      return directory.endMessage(messageKey)
    }
    let run = CommandRun(command, arguments, message, link, self)
    let text = await run.carryOut() ?? ""
    guard let shown = action.message else { return directory.endMessage(messageKey, saying: text) }
    let end = MessageEnd(received: messageKey, .handled)
    directory.post(.change(shown, text, buttons: await run.menuButtons(), end), to: key)
  }

  // MARK: - Durability

  /// Stores that a message is being handled. A message that cannot be handled twice without harm is not tried again by the
  /// next daemon, and so not handled at all where that cannot be stored.
  func beginHandling(_ key: MessageKey) async -> Bool {
    do {
      // Only a received message, or a postponed and so received one, is handled.
      var life = MessageLifecycle()
      guard let change = life.take(.handlingBegan)?.persist else { return false }
      try await store.advance(key, change, in: nil)
      return true
    } catch {
      logger.with(key.conversation).error("the start of handling a message was not stored: \(error)")
      return false
    }
  }

  /// Leaves a message that was not begun to the next daemon.
  func postpone(_ key: MessageKey) async {
    var life = MessageLifecycle(restoring: .handling, isWithdrawn: false)
    guard let change = life.take(.postponed)?.persist else { return }
    do {
      try await store.advance(key, change, in: nil)
    } catch {
      logger.with(key.conversation).error("a message was not stored as waiting: \(error)")
    }
  }

  /// Starts a compaction and returns at once; the session reports its end to the conversation.
  func compact(_ session: Session, keeping instructions: String?, for message: MessageKey) {
    directory.taskScope.add { [self] in
      if let result = await session.compact(instructions) {
        let isTold = subscriptions.shows(session.id, to: message.conversation)
        directory.endMessage(message, saying: isTold ? nil : result)
      } else {
        await postpone(message)
      }
    }
  }
}
