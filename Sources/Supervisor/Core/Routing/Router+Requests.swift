internal import AgentSessions
internal import Conversations
internal import MessageDelivery
internal import PiRPC
package import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayText
package import RelayTransport
internal import RelayWire

// What plugins ask: each request is checked, authorised, stored and only then answered.
extension Router {
  package func received(_ request: IncomingRequest, from link: PluginLink) async {
    do {
      // What concerns a message, or follows it, does not overtake it.
      if request.method != MessageReceived.method, accepting.withLock({ $0 > 0 }) { try await store.settled() }
      switch request.method {
      case Ping.method: request.reply(Empty())
      case StateSave.method: try await saveState(request, link)
      case ProblemReport.method:
        if link.note(try request.params(ProblemReport.self).problem) {
          log("\(link.name): \(link.problem ?? "well again")")
        }
        request.reply(Empty())
      case MessageReceived.method:
        try receive(request.params(MessageReceived.self), request, link)
      case MessageEdited.method: try await edited(request.params(MessageEdited.self), link, request)
      case MessageDeleted.method: try await deleted(request.params(MessageDeleted.self), link, request)
      case CommandInvoked.method: try invoked(request.params(CommandInvoked.self), link, request)
      case ActionInvoked.method: try await pressed(request.params(ActionInvoked.self), link, request)
      case CommandComplete.method:
        let ask = try request.params(CommandComplete.self)
        try requireMessenger(link)
        // An agent may be asked for it, which must not hold up what people write.
        taskScope.add { [self] in await complete(ask, link, request) }
      case ConversationClosed.method:
        try requireMessenger(link)
        try await closed(request.params(ConversationClosed.self), link)
        request.reply(Empty())
      case ConversationReopened.method, ReactionAdded.method: request.reply(Empty())
      default: throw WireError(.methodNotFound, "there is no method \(request.method)")
      }
    } catch let error as WireError {
      request.fail(error)
    } catch {
      log("\(link.name): \(request.method) failed: \(error)")
      request.fail(WireError(.internalError, "it could not be stored; send it again"))
    }
  }

  private func saveState(_ request: IncomingRequest, _ link: PluginLink) async throws {
    let state = try request.params(StateSave.self).state
    guard JSONCoding.encode(state).count <= StateSave.maximumBytes else {
      throw WireError(.invalidParams, "state.save: the state is over \(ByteCount(StateSave.maximumBytes))")
    }
    try await store.savePluginState(state, of: link.name)
    request.reply(Empty())
  }

  /// Checks, stores and queues a message, and then answers. Does not wait for the disk: what a messenger sends meanwhile
  /// shares the commit.
  private func receive(_ message: MessageReceived, _ request: IncomingRequest, _ link: PluginLink) throws {
    guard try isWelcome(message, link, isNative: request.method == CommandInvoked.method) else {
      request.reply(MessageReceived.Reply(stored: false, refused: true))
      return
    }
    guard isMeant(message, link) else { return request.reply(MessageReceived.Reply(stored: false)) }
    let key = key(link, message.conversation)
    let inbox = place(key, message.conversation, link).inbox
    let stored = StoredMessage(
      key: MessageKey(conversation: key, id: message.id), message: message,
      isAnswer: Self.mayAnswer(message) && watchers.question(to: key, message.text) != nil)
    accepting.withLock { $0 += 1 }
    let isWhole = message.state == nil && request.method == MessageReceived.method
    let encoded = isWhole ? request.encodedParams : nil
    store.accept(stored, encoded: encoded, state: message.state) { [log, accepting] result in
      switch result {
      case .success(let isNew):
        if isNew { inbox.post(.message(message, link)) }
        request.reply(MessageReceived.Reply(stored: isNew))
      case .failure(let error):
        log("\(key): a message was not taken: \(error)")
        request.fail(WireError(.internalError, "it could not be stored; send it again"))
      }
      accepting.withLock { $0 -= 1 }
    }
  }

  /// Where people talk among themselves, only what names the bot or replies to it is for the agent.
  private func isMeant(_ message: MessageReceived, _ link: PluginLink) -> Bool {
    message.mention == true || MessageEnd.isInteraction(message.id)
      || settings(link, message.conversation).mention != true
  }

  /// Whether a message is to be stored at all.
  ///
  /// - Parameter isNative: the plugin answers it itself.
  /// - Throws: what is wrong with it.
  private func isWelcome(_ message: MessageReceived, _ link: PluginLink, isNative: Bool) throws(WireError) -> Bool {
    try requireMessenger(link)
    guard message.text.utf8.count <= Self.longestText else {
      throw WireError(.invalidParams, "text: longer than \(ByteCount(Self.longestText))")
    }
    guard message.attachments?.count ?? 0 <= Self.mostAttachments else {
      throw WireError(.invalidParams, "attachments: more than \(Self.mostAttachments)")
    }
    if isDraining { throw WireError(.busy, "shutting down; send it again to the next daemon") }
    // Authorised before any effect, storing included: a stranger must not fill the disk either.
    guard Authorisation.allows(message.sender, through: link) else {
      refuse(message.sender, message.conversation, link, isTold: !isNative)
      return false
    }
    return true
  }

  private func requireMessenger(_ link: PluginLink) throws(WireError) {
    guard link.isMessenger else {
      throw WireError(.forbidden, "only a plugin of kind messenger may send this")
    }
  }

  private func refuse(_ sender: Sender, _ conversation: Conversation, _ link: PluginLink, isTold: Bool) {
    // A stranger costs a line and a refusal now and then, and no more: neither a conversation nor the log.
    guard sender.bot != true, refusals.shouldTell("\(link.name):\(sender.id)", now: timekeeper.now()) else { return }
    log("\(link.name): \(SafeText.line(sender.name)) (id \(SafeText.line(sender.id))) is not authorized")
    guard isTold, conversation.kind == .dm else { return }
    let delivery = Delivery(
      conversation: key(link, conversation), holder: holder(link.name), store: store, timekeeper: timekeeper,
      settings: deliveries, log: log)
    taskScope.add { _ = await delivery.send(delivery.compose("Not authorized.", role: .notice)) }
  }

  // Edits and deletions go the way of the messages they concern, behind them. What they are to do to one that waits is
  // stored with it: should this daemon end first, the next knows.
  private func edited(_ edit: MessageEdited, _ link: PluginLink, _ request: IncomingRequest) async throws {
    try requireMessenger(link)
    guard edit.text.utf8.count <= Self.longestText else {
      throw WireError(.invalidParams, "text: longer than \(ByteCount(Self.longestText))")
    }
    if Authorisation.allows(edit.sender, through: link) {
      let key = key(link, edit.conversation)
      accepting.withLock { $0 += 1 }
      defer { accepting.withLock { $0 -= 1 } }
      let message = MessageReceived(
        id: edit.id, conversation: edit.conversation, sender: edit.sender, text: edit.text)
      let canWait = Self.words(of: message) != nil
      let waiting = canWait ? try await store.replace(MessageKey(conversation: key, id: edit.id), text: edit.text) : nil
      places[key]?.inbox.post(.edit(edit, waiting))
    }
    request.reply(Empty())
  }

  private func deleted(_ deletion: MessageDeleted, _ link: PluginLink, _ request: IncomingRequest) async throws {
    try requireMessenger(link)
    if deletion.sender.map({ Authorisation.allows($0, through: link) }) ?? true {
      let key = key(link, deletion.conversation)
      accepting.withLock { $0 += 1 }
      defer { accepting.withLock { $0 -= 1 } }
      try await store.withdraw(MessageKey(conversation: key, id: deletion.id))
      places[key]?.inbox.post(.deletion(deletion))
    }
    request.reply(Empty())
  }

  private func invoked(_ command: CommandInvoked, _ link: PluginLink, _ request: IncomingRequest) throws {
    let text = "/\(command.name)" + (command.arguments.map { " \($0)" } ?? "")
    let message = MessageReceived(
      id: MessageEnd.commandPrefix + command.id, conversation: command.conversation, sender: command.sender, text: text)
    try receive(message, request, link)
  }

  private func pressed(_ action: ActionInvoked, _ link: PluginLink, _ request: IncomingRequest) async throws {
    try requireMessenger(link)
    guard Authorisation.allows(action.sender, through: link) else {
      refuse(action.sender, action.conversation, link, isTold: false)
      request.reply(ActionInvoked.Reply(stored: false, refused: true))
      return
    }
    guard action.text?.utf8.count ?? 0 <= Self.longestText else {
      throw WireError(.invalidParams, "text: longer than \(ByteCount(Self.longestText))")
    }
    if isDraining { throw WireError(.busy, "shutting down; send it again to the next daemon") }
    let key = key(link, action.conversation)
    let inbox = place(key, action.conversation, link).inbox
    accepting.withLock { $0 += 1 }
    defer { accepting.withLock { $0 -= 1 } }
    if let ended = Self.messageToRunAgain(action, key),
      let message = try await store.accept(
        runningAgain: ended, as: { Self.message(runningAgain: $0, for: action) })
    {
      inbox.post(.message(message, link))
      return request.reply(ActionInvoked.Reply(stored: true))
    }
    // Stored as the words it stands for. A button of a menu is a command, which the next daemon carries out; words that
    // answer a question never are: the question ends with this daemon, and the next says that they answered nothing.
    let command = SessionMenu.command(ofButton: action.action)
    let words = MessageReceived(
      id: Self.id(of: action), conversation: action.conversation, sender: action.sender,
      text: command ?? action.text ?? dialogs.label(ofButton: action.action) ?? action.action,
      forwarded: command == nil ? true : nil)
    let isNew = try await store.accept(
      StoredMessage(key: MessageKey(conversation: key, id: words.id), message: words, isAnswer: command == nil),
      state: nil)
    if isNew { inbox.post(.action(action, link)) }
    request.reply(ActionInvoked.Reply(stored: isNew))
  }

  /// What the press of a button is stored and settled under.
  static func id(of action: ActionInvoked) -> String { MessageEnd.actionPrefix + action.id }

  private func complete(_ ask: CommandComplete, _ link: PluginLink, _ request: IncomingRequest) async {
    guard Authorisation.allows(ask.sender, through: link) else {
      request.reply(CommandComplete.Reply(completions: []))
      return
    }
    let text = ask.text.trimmingWhitespace()
    guard text.hasPrefix("/"), !ask.text.contains(" ") else {
      request.reply(CommandComplete.Reply(completions: await argumentsCompleting(ask, link)))
      return
    }
    var names = CommandRegistry.all.flatMap { [$0.name] + $0.aliases }
    if let session = await boundSession(key(link, ask.conversation)) {
      names += await session.agentCommands().map(\.name)
    }
    request.reply(CommandComplete.Reply(completions: names.map { "/\($0)" }.filter { $0.hasPrefix(text) }.sorted()))
  }

  /// Nobody waits for completions for long.
  private static let completionLimit: Duration = .milliseconds(1_500)

  /// The names of the agent's own commands; `nil` while it sleeps, or does not tell them soon.
  func commandNames(of session: Session) async -> Set<String>? {
    let told: [PiCommandList.Command]? = try? await withDeadline(Self.completionLimit, clock: timekeeper.clock) {
      await session.toldCommands()
    }
    return told.map { Set($0.map(\.name)) }
  }

  private func argumentsCompleting(_ ask: CommandComplete, _ link: PluginLink) async -> [String] {
    let parts = ask.text.split(separator: " ", maxSplits: 1).map(String.init)
    guard let name = parts.first?.trimmingPrefixSlash(), CommandRegistry.command(name)?.completes == true else {
      return []
    }
    let known: [String]
    switch name {
    case "use": known = await addressable(from: key(link, ask.conversation)).statuses().map(\.name)
    case "model":
      let session = await boundSession(key(link, ask.conversation))
      let names = try? await withDeadline(Self.completionLimit, clock: timekeeper.clock) {
        await session?.modelNames() ?? []
      }
      known = names ?? []
    default: known = CommandRegistry.all.map(\.name)
    }
    let wish = (parts.count > 1 ? parts[1] : "").lowercased()
    return known.filter { $0.lowercased().contains(wish) }.map { "/\(name) \($0)" }
  }
}
