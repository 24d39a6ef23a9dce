internal import Approvals
internal import ChatCommands
internal import ConversationSessions
internal import Conversations
internal import Logging
internal import MessageDelivery
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire
internal import SessionCatalog

/// The way in for messages, edits, deletions, commands and buttons: each is checked, authorised, stored and only then answered,
/// and waits in its conversation.
final class InboundGate: Sendable {
  private struct State {
    var refusals = RefusalLimiter()
    var isDraining = false
    /// Messages on their way to the disk.
    var accepting = 0
  }

  private let store: SQLiteStore
  private let directory: ConversationDirectory
  private let subscriptions: SessionSubscriptions
  private let questions: QuestionRegistry
  private let people: PairedPeople
  private let pairing: PairingDesk?
  private let timeSource: TimeSource
  private let logger: Logger
  private let state = Locked(State())

  /// The longest text of one message from a person, in bytes.
  private static let maximumTextLength = 1 << 20
  private static let maximumAttachments = 32

  init(
    store: SQLiteStore, directory: ConversationDirectory, subscriptions: SessionSubscriptions,
    questions: QuestionRegistry, people: PairedPeople, pairing: PairingDesk? = nil, timeSource: TimeSource,
    logger: Logger
  ) {
    self.store = store
    self.directory = directory
    self.subscriptions = subscriptions
    self.questions = questions
    self.people = people
    self.pairing = pairing
    self.timeSource = timeSource
    self.logger = logger
  }

  var isDraining: Bool { state.withLock { $0.isDraining } }

  /// Takes no new messages from now on.
  func drain() { state.withLock { $0.isDraining = true } }

  /// True while a message is on its way to the disk.
  var isStoring: Bool { state.withLock { $0.accepting > 0 } }

  private func beginStoring() { state.withLock { $0.accepting += 1 } }
  private func endStoring() { state.withLock { $0.accepting -= 1 } }

  // MARK: - Messages and commands

  /// Does not wait for the disk: messages that arrive meanwhile share the commit.
  ///
  /// - Parameter isNative: the messenger itself shows its answer.
  func receive(
    _ message: MessageReceived, _ request: IncomingRequest, _ link: PluginConnection, isNative: Bool = false
  ) throws(WireError) {
    try requireMessenger(link)
    try checkText(message.text)
    guard message.attachments?.count ?? 0 <= Self.maximumAttachments else {
      throw WireError(.invalidParams, "attachments: more than \(Self.maximumAttachments)")
    }
    try requireNoDraining()
    // Authorised before any effect, storing included: a stranger must not fill the disk either.
    let isAdmitted = allows(message.sender, in: message.conversation, link)
    // The one thing that a stranger may do.
    if pairing?.takes(message, link, isAdmitted: isAdmitted, isNative: isNative) == true {
      return request.reply(MessageReceived.Reply(stored: isNative))
    }
    guard isAdmitted else {
      refuse(message.sender, message.conversation, link, isTold: !isNative)
      return request.reply(MessageReceived.Reply(stored: false, refused: true))
    }
    guard isMeant(message, link) else { return request.reply(MessageReceived.Reply(stored: false)) }
    let key = link.key(message.conversation)
    let inbox = directory.context(key, message.conversation, link).inbox
    let stored = StoredMessage(
      key: MessageKey(conversation: key, id: message.id), message: message,
      isAnswer: MessageDispatcher.mayAnswer(message)
        && (ApprovalReply(message.text) != nil || subscriptions.question(to: key, message.text) != nil))
    beginStoring()
    let isWhole = message.state == nil && !isNative
    let encoded = isWhole ? request.encodedParams : nil
    store.accept(stored, encoded: encoded, state: message.state) { [self] result in
      switch result {
      case .success(let isNew):
        if isNew { inbox.post(.message(message, link)) }
        request.reply(MessageReceived.Reply(stored: isNew))
      case .failure(let error):
        logger.with(key).error("a message was not accepted: \(error)")
        request.fail(WireError(.internalError, "it could not be stored; send it again"))
      }
      endStoring()
    }
  }

  /// A native command of the messenger is a message with its words.
  func receive(_ command: CommandInvoked, _ request: IncomingRequest, _ link: PluginConnection) throws(WireError) {
    let text = "/\(command.name)" + (command.arguments.map { " \($0)" } ?? "")
    let message = MessageReceived(
      id: MessageOrigin.command(command.id).id, conversation: command.conversation, sender: command.sender, text: text)
    try receive(message, request, link, isNative: true)
  }

  /// Where people talk among themselves, only messages that name the bot or reply to it are for the agent.
  private func isMeant(_ message: MessageReceived, _ link: PluginConnection) -> Bool {
    message.mention == true || MessageOrigin(id: message.id).isInteraction
      || link.settings(of: message.conversation).mention != true
  }

  // MARK: - Edits and deletions

  // They follow the messages they concern. Their effect on a message that waits is stored with it: should this daemon end
  // first, the next one knows.

  func receive(_ edit: MessageEdited, _ request: IncomingRequest, _ link: PluginConnection) async throws {
    try requireMessenger(link)
    try checkText(edit.text)
    if allows(edit.sender, in: edit.conversation, link) {
      let key = link.key(edit.conversation)
      beginStoring()
      defer { endStoring() }
      let message = MessageReceived(
        id: edit.id, conversation: edit.conversation, sender: edit.sender, text: edit.text)
      let canWait = CommandLineText.prompt(of: message) != nil
      let waiting = canWait ? try await store.replace(MessageKey(conversation: key, id: edit.id), text: edit.text) : nil
      directory[key]?.inbox.post(.edit(edit, waiting))
    }
    request.reply(Empty())
  }

  func receive(_ deletion: MessageDeleted, _ request: IncomingRequest, _ link: PluginConnection) async throws {
    try requireMessenger(link)
    if deletion.sender.map({ allows($0, in: deletion.conversation, link) }) ?? true {
      let key = link.key(deletion.conversation)
      beginStoring()
      defer { endStoring() }
      try await store.withdraw(MessageKey(conversation: key, id: deletion.id))
      directory[key]?.inbox.post(.deletion(deletion))
    }
    request.reply(Empty())
  }

  // MARK: - Buttons

  func receive(_ action: ActionInvoked, _ request: IncomingRequest, _ link: PluginConnection) async throws {
    try requireMessenger(link)
    guard allows(action.sender, in: action.conversation, link) else {
      refuse(action.sender, action.conversation, link, isTold: false)
      return request.reply(ActionInvoked.Reply(stored: false, refused: true))
    }
    try checkText(action.text ?? "")
    try requireNoDraining()
    let key = link.key(action.conversation)
    let inbox = directory.context(key, action.conversation, link).inbox
    beginStoring()
    defer { endStoring() }
    if let ended = RunAgainButton.message(of: action, in: key),
      let message = try await store.accept(
        runningAgain: ended, as: { Self.message(runningAgain: $0, for: action) })
    {
      inbox.post(.message(message, link))
      return request.reply(ActionInvoked.Reply(stored: true))
    }
    let words = Self.words(of: action, questions)
    let isNew = try await store.accept(
      StoredMessage(
        key: MessageKey(conversation: key, id: words.id), message: words, isAnswer: words.forwarded == true),
      state: nil)
    if isNew { inbox.post(.action(action, link)) }
    request.reply(ActionInvoked.Reply(stored: isNew))
  }

  /// The words of a pressed button or a form; empty for a button that has no effect any more.
  ///
  /// The button of a menu is a command, which the next daemon carries out. Words that answer a question are marked as
  /// another person's, so that they are never carried out: the question ends with this daemon, and the next one reports
  /// that the words answered nothing.
  static func words(of action: ActionInvoked, _ questions: QuestionRegistry) -> MessageReceived {
    let command = SessionMenu.command(ofButton: action.action)
    return MessageReceived(
      id: MessageOrigin.action(action.id).id, conversation: action.conversation, sender: action.sender,
      text: command ?? action.text ?? questions.label(ofButton: action.action) ?? "",
      forwarded: command == nil ? true : nil)
  }

  /// Makes the new message of a pressed button from the forgotten message that it runs again.
  private static func message(runningAgain ended: MessageReceived, for action: ActionInvoked) -> MessageReceived {
    // Whole: words after /followup may look like another command.
    var message = ended
    message.id = MessageOrigin.action(action.id).id
    message.sender = action.sender
    return message
  }

  // MARK: - Checks

  func requireMessenger(_ link: PluginConnection) throws(WireError) {
    guard link.isMessenger else {
      throw WireError(.forbidden, "only a plugin of kind messenger may send this")
    }
  }

  private func allows(_ sender: Sender, in conversation: Conversation, _ link: PluginConnection) -> Bool {
    Authorisation.allows(sender, in: conversation, through: link, or: people)
  }

  private func requireNoDraining() throws(WireError) {
    if isDraining { throw WireError(.busy, "shutting down; send it again to the next daemon") }
  }

  private func checkText(_ text: String) throws(WireError) {
    guard text.utf8.count <= Self.maximumTextLength else {
      throw WireError(.invalidParams, "text: longer than \(ByteCount(Self.maximumTextLength))")
    }
  }

  /// A stranger costs a line and a refusal now and then, and no more: neither a conversation nor the log.
  private func refuse(_ sender: Sender, _ conversation: Conversation, _ link: PluginConnection, isTold: Bool) {
    let now = timeSource.now()
    guard sender.bot != true,
      state.withLock({ $0.refusals.shouldTell("\(link.name):\(sender.id)", now: now) })
    else { return }
    logger.with("instance", link.name).notice(
      "\(TextSanitizer.line(sender.name)) (id \(TextSanitizer.line(sender.id))) is not authorized")
    guard isTold, conversation.kind == .dm else { return }
    let delivery = directory.deliveryOfRefusals(to: link.key(conversation))
    directory.taskScope.add { _ = await delivery.send(delivery.compose("Not authorized.", role: .notice)) }
  }
}
