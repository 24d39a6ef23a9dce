internal import AgentSessions
internal import PiRPC
internal import PluginRuntime
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayWire

// What a message is: a command, the answer to a question, or a prompt; and what becomes of it.
extension Router {
  func process(_ arrival: Arrival, _ key: ConversationKey) async {
    switch arrival {
    case .message(let message, let link): await process(message, link, key)
    case .action(let action, let link): await process(action, link, key)
    case .finding(let message, let link): await process(finding: message, link, key)
    case .edit(let edit, let waiting): await process(edit, waiting, key)
    case .deletion(let deletion): await process(deletion, key)
    case .recovered(let unfinished, let link): await process(unfinished, link, key)
    }
  }

  private func process(_ edit: MessageEdited, _ waiting: MessageReceived?, _ key: ConversationKey) async {
    let message =
      waiting ?? MessageReceived(id: edit.id, conversation: edit.conversation, sender: edit.sender, text: edit.text)
    let messageKey = MessageKey(conversation: key, id: edit.id)
    guard let words = Self.words(of: message) else {
      guard await changeWaiting({ await $0.holds(messageKey) }) != .unknown else { return }
      return await say("✏️ A waiting message cannot be made a command; write the command by itself.", to: key)
    }
    let change = await changeWaiting { session in
      guard await session.holds(messageKey) != .unknown else { return .unknown }
      return await session.replace(messageKey, text: await prompted(words, session), typed: words.text)
    }
    switch change {
    case .done:
      // The store may not know yet that the message waits again: the agent ended before it took it.
      if waiting == nil { await keep(text: edit.text, of: messageKey) }
      await say("✏️ The waiting message was replaced.", to: key)
    case .tooLate: await say("✏️ Too late to change: the agent has that message. Write a new one.", to: key)
    case .unchanged, .unknown: break
    }
  }

  private func keep(text: String, of key: MessageKey) async {
    do { _ = try await store.replace(key, text: text) } catch {
      log("\(key.conversation): the new words of a waiting message could not be stored: \(error)")
    }
  }

  private func process(_ deletion: MessageDeleted, _ key: ConversationKey) async {
    let change = await changeWaiting { session in
      await session.withdraw(MessageKey(conversation: key, id: deletion.id))
    }
    switch change {
    case .done: await say("🗑️ The waiting message was withdrawn.", to: key)
    case .tooLate: await say("🗑️ Too late to withdraw: the agent has that message. /stop stops it.", to: key)
    case .unchanged, .unknown: break
    }
  }

  /// The conversation may have turned to another session since: whichever has the message.
  private func changeWaiting(_ change: (Session) async -> Session.Change) async -> Session.Change {
    for session in await host.awake() {
      let outcome = await change(session)
      if outcome != .unknown { return outcome }
    }
    return .unknown
  }

  func process(_ message: MessageReceived, _ link: PluginLink, _ key: ConversationKey) async {
    if case .command(let name, let arguments) = Self.kind(of: message), let command = CommandRegistry.command(name) {
      return await run(command, CommandCall(name: name, arguments: arguments, message: message, link: link), key)
    }
    if Self.mayAnswer(message), let session = await binding(of: key),
      let record = watchers.question(to: key, message.text), record.session == session
    {
      guard await begin(message, key) else {
        return await say("⚠️ Your answer is not given while nothing can be stored.", to: key)
      }
      await answer(record, message, key)
      return
    }
    if message.text.trimmingWhitespace().lowercased() == "/cancel" {
      settle(message, key, saying: "There is no open question to cancel.")
      return
    }
    if let answer = await prompt(message, link, as: settings(link, message.conversation).busy ?? .followUp) {
      await say(answer, to: key)
    }
  }

  /// Words of the person's own, where a question waits, are its answer. A message that is run again is none.
  static func mayAnswer(_ message: MessageReceived) -> Bool {
    message.forwarded != true && !message.id.hasPrefix(MessageEnd.actionPrefix)
      && !message.text.trimmingWhitespace().isEmpty
  }

  enum Kind: Equatable {
    case command(String, arguments: String)
    case words
  }

  /// Forwarded words are another's: neither a command nor an answer.
  static func kind(of message: MessageReceived) -> Kind {
    guard message.forwarded != true, let (name, arguments) = CommandRegistry.parse(message.text),
      let command = CommandRegistry.command(name)
    else { return .words }
    return .command(command.name, arguments: arguments)
  }

  /// What of a message is for the agent; nil for a command that is none of its.
  static func words(of message: MessageReceived) -> MessageReceived? {
    guard case .command(let name, let arguments) = kind(of: message) else { return message }
    guard CommandRegistry.command(name)?.weight == .prompt else { return nil }
    var words = message
    words.text = arguments
    return words
  }

  private func run(_ command: Command, _ call: CommandCall, _ key: ConversationKey) async {
    switch command.weight {
    case .prompt:
      if let answer = await carryOut(command, call) { await say(answer, to: key, about: call.message.id) }
      return
    case .lasting:
      guard await begin(call.message, key) else {
        return await say("⚠️ /\(command.name) is not done while nothing can be stored.", to: key, about: call.message.id)
      }
      if let answer = await carryOut(command, call) { await say(answer, to: key, about: call.message.id) }
      return
    case .light: break
    case .urgent: _ = await begin(call.message, key)
    case .recorded:
      guard await begin(call.message, key) else {
        return await say("⚠️ /\(command.name) is not done while nothing can be stored.", to: key, about: call.message.id)
      }
    }
    let text = await carryOut(command, call)
    let buttons = link(call, key)?.capabilities.buttons == nil ? nil : await command.buttons?(self, call)
    settle(call.message, key, saying: text, buttons: text == nil ? nil : buttons)
  }

  /// Commands look into folders, and a slow disk is not to hold up the loop.
  private func carryOut(_ command: Command, _ call: CommandCall) async -> String? {
    await withTaskExecutorPreference(globalConcurrentExecutor) { await command.run(self, call) }
  }

  private func link(_ call: CommandCall, _ key: ConversationKey) -> PluginLink? {
    places[key]?.holder.current ?? call.link
  }

  /// What cannot be done twice without harm is not tried again by the next daemon; and so not at all where that cannot be
  /// stored.
  private func begin(_ message: MessageReceived, _ key: ConversationKey) async -> Bool {
    await begin(MessageKey(conversation: key, id: message.id))
  }

  private func begin(_ key: MessageKey) async -> Bool {
    do {
      // Only what is received, or postponed and so received again, is carried out.
      var life = MessageLifecycle()
      guard let change = life.take(.handlingBegan)?.persist else { return false }
      try await store.advance(key, change, in: nil)
      return true
    } catch {
      log("\(key.conversation): that a message is being handled could not be stored: \(error)")
      return false
    }
  }

  /// It was not begun: the next daemon does it.
  func postpone(_ message: MessageReceived, _ key: ConversationKey) async {
    var life = MessageLifecycle(restoring: .handling, isWithdrawn: false)
    guard let change = life.take(.postponed)?.persist else { return }
    do {
      try await store.advance(MessageKey(conversation: key, id: message.id), change, in: nil)
    } catch {
      log("\(key): that a message waits could not be stored: \(error)")
    }
  }

  /// A message that was no prompt is done, once its conversation has been told.
  func settle(
    _ message: MessageReceived, _ key: ConversationKey, saying text: String? = nil, buttons: [[Button]]? = nil
  ) {
    let end = MessageEnd(MessageKey(conversation: key, id: message.id), .handled)
    places[key]?.output.post(text.map { .report($0, end, buttons: buttons) } ?? .end(end))
  }

  /// Gives a message to the conversation's session, beginning one if there is none. Answers what to say about it.
  ///
  /// - Parameter earlier: how far an earlier daemon had come with it.
  func prompt(
    _ message: MessageReceived, _ link: PluginLink, as mode: Config.Busy, earlier: UnfinishedMessage? = nil
  ) async -> String? {
    let key = key(link, message.conversation)
    let attachments = message.attachments ?? []
    guard !message.text.trimmingWhitespace().isEmpty || !attachments.isEmpty else {
      settle(message, key)
      return nil
    }
    // Nothing new is begun: the next daemon finds it.
    if isDraining { return nil }
    let session: Session
    if let id = earlier?.session, let meant = await host.session(id) {
      session = meant
    } else if case .failure(let error) = await lookUp(key) {
      // Another session would have nothing of what was said; the message stays as it is stored.
      return "⚠️ Your message waits for the next start: \(error)"
    } else if let bound = await boundSession(key) {
      session = bound
      // A conversation that came back after a restart of its messenger watches again.
      await watch(session.id, key)
    } else {
      let use = settings(link, message.conversation).use
      let hadOne = await binding(of: key) != nil
      if use == .control {
        await askForChoice(message, key, link, hadOne: hadOne)
        return nil
      }
      if hadOne { await say("The session of this conversation is no longer there; this begins another.", to: key) }
      session =
        switch use {
        case .main: await mainSession(key, link)
        case .assistant: await assistantSession(message, key, link)
        case .own, .control, nil: await makeSession(key, link, name: nil, directory: nil, model: nil)
        }
      await bind(key, to: session)
    }
    var prompt = Prompt(
      key: MessageKey(conversation: key, id: message.id), text: await prompted(message, link, session),
      typed: message.text,
      attachments: attachments, spoolFolder: link.spoolFolder, proxy: link.messenger?.proxy)
    prompt.hosts = link.capabilities.attachmentHosts
    prompt.life =
      earlier.map { $0.life(in: session.id) }
      ?? MessageLifecycle(isAdmitted: message.id.hasPrefix(Self.heartbeatPrefix))
    if session.role != nil, !assistantQueue.admits(prompt.key, isKnown: prompt.life.evidence.isAdmitted) {
      let text = "❌ So many messages wait already that this one was not taken. Try again later."
      places[key]?.output.post(.report(text, MessageEnd(prompt.key, .refused)))
      return nil
    }
    if mode == .steer {
      switch await session.steer(prompt) {
      case .taken: return "↪️ Told the working agent."
      case .refused: break
      case .unanswered:
        return
          "↪️ Given to the working agent, which has not confirmed it yet. If the agent does not take it, it runs next."
      case .withdrawn:
        assistantQueue.leave(prompt.key)
        return nil
      }
    }
    let place = await session.enqueue(prompt)
    if !place.isTaken { assistantQueue.leave(prompt.key) }
    switch place {
    case .next: return nil
    case .queued(let before):
      return "⏳ Queued: it runs when the agent is done" + (before > 1 ? " with \(before) others." : ".")
    case .undecided(let count):
      return "⏳ Queued: \(count) messages wait until the question above is decided."
    case .parked: return nil
    case .closed:
      // Closed a moment ago from elsewhere: the message begins another.
      await forget(session)
      return await self.prompt(message, link, as: mode, earlier: earlier)
    case .full(let count):
      let text = "❌ \(count) messages wait already, so this one was not taken. Try again later."
      places[key]?.output.post(.report(text, MessageEnd(prompt.key, .refused)))
      return nil
    }
  }

  /// What the agent is given: where a session is only looked in on, the words exactly as they were typed.
  private func prompted(_ message: MessageReceived, _ link: PluginLink, _ session: Session) async -> String {
    var message = message
    if settings(link, message.conversation).use == .control { message.replyTo = nil }
    return await prompted(message, session)
  }

  private func prompted(_ message: MessageReceived, _ session: Session) async -> String {
    let commands = message.text.hasPrefix("/") ? await commandNames(of: session) : nil
    return PromptText.compose(message, agentCommands: commands)
  }

  /// Nobody has chosen yet which session this is for.
  private func askForChoice(
    _ message: MessageReceived, _ key: ConversationKey, _ link: PluginLink, hadOne: Bool
  ) async {
    let call = CommandCall(name: "sessions", arguments: "", message: message, link: link)
    let menu = await menu(call)
    let why = hadOne ? "The session you talked to is no longer there." : "You talk to no session yet."
    let advice =
      menu.isEmpty
      ? menu.text : "Choose one with /sessions and write again, or begin one with /new.\n\(menu.text)"
    settle(message, key, saying: "\(why) \(advice)", buttons: menu.buttons)
  }

  // MARK: - Answers to questions

  private func answer(_ record: DialogRecord, _ message: MessageReceived, _ key: ConversationKey) async {
    switch record.read(message.text) {
    case .unclear(let hint): await say(hint, to: key)
    case .answer(let answer, let label): await settle(record, answer, label, by: message.sender, key)
    }
    defer { settle(message, key) }
    // Files that came with an answer are a message of their own, not lost.
    if let attachments = message.attachments, !attachments.isEmpty, let link = places[key]?.holder.current {
      var rest = message
      rest.id += "#files"
      rest.text = ""
      let stored = StoredMessage(key: MessageKey(conversation: key, id: rest.id), message: rest)
      do {
        if try await store.accept(stored, state: nil), let text = await prompt(rest, link, as: .followUp) {
          await say(text, to: key)
        }
      } catch {
        log("\(key): files that came with an answer could not be stored: \(error)")
      }
    }
  }

  private func process(_ action: ActionInvoked, _ link: PluginLink, _ key: ConversationKey) async {
    if let line = SessionMenu.command(ofButton: action.action) { return await choose(line, action, link, key) }
    let end = MessageEnd(MessageKey(conversation: key, id: Self.id(of: action)), .handled)
    guard let (record, reading) = dialogs.reading(of: action), record.session == (await binding(of: key))
    else {
      let text =
        Self.messageToRunAgain(action, key) == nil
        ? "That question is settled already."
        : "That message runs again already, or is no longer kept. Write it again if it is still wanted."
      places[key]?.output.post(.report(text, end))
      return
    }
    guard await begin(end.key) else {
      return await say("⚠️ Your answer is not given while nothing can be stored.", to: key)
    }
    switch reading {
    case .unclear(let hint): await say(hint, to: key)
    case .answer(let answer, let label): await settle(record, answer, label, by: action.sender, key)
    }
    places[key]?.output.post(.end(end))
  }

  /// A button of a menu stands for a command, whose answer takes the menu's place.
  private func choose(_ line: String, _ action: ActionInvoked, _ link: PluginLink, _ key: ConversationKey) async {
    let message = MessageReceived(
      id: Self.id(of: action), conversation: action.conversation, sender: action.sender, text: line)
    let end = MessageEnd(MessageKey(conversation: key, id: message.id), .handled)
    guard case .command(let name, let arguments) = Self.kind(of: message), let command = CommandRegistry.command(name)
    else { return settle(message, key) }
    let call = CommandCall(name: name, arguments: arguments, message: message, link: link)
    let text = await carryOut(command, call) ?? ""
    guard let shown = action.message else { return settle(message, key, saying: text) }
    let buttons = await Router.sessionButtons(self, call)
    places[key]?.output.post(.change(shown, text, buttons: buttons, end))
  }

  private func settle(
    _ record: DialogRecord, _ answer: PiDialogAnswer, _ label: String, by sender: Sender, _ key: ConversationKey
  ) async {
    guard dialogs.claim(record.id) != nil else {
      await say("That question is settled already.", to: key)
      return
    }
    guard let session = await host.session(record.session), await session.answer(record.dialog.id, answer) else {
      watchers.settle(record, .unanswered(why: "the agent no longer waits for an answer"))
      return
    }
    watchers.settle(record, .answered(label, by: sender.name))
  }
}
