package import AgentSessions
package import Assistant
internal import ChatCommands
package import Conversations
internal import Pairings
internal import PiRPC
package import PluginRuntime
internal import RelayConcurrency
package import RelayConfig
package import RelayModel
package import RelayWire
package import SessionCatalog
package import SessionStates

/// Gives messages to sessions, beginning a session where a conversation has none.
package final class PromptRouter: Sendable {
  private let sessions: SessionRegistry
  private let bindings: SessionBindings
  private let directory: ConversationDirectory
  private let subscriptions: SessionSubscriptions
  private let assistant: AssistantSetup
  private let admission: AdmissionController
  private let isDraining: @Sendable () -> Bool
  private let machineName: String?
  private let clock: any Clock<Duration>
  /// The search for the main session, which several conversations may begin at once.
  private let findingMain = Locked<Task<Session, Never>?>(nil)

  /// - Parameter isDraining: true once the daemon takes no new messages.
  package init(
    sessions: SessionRegistry, bindings: SessionBindings, directory: ConversationDirectory,
    subscriptions: SessionSubscriptions,
    assistant: AssistantSetup, admission: AdmissionController, isDraining: @escaping @Sendable () -> Bool,
    machineName: String?, clock: any Clock<Duration>
  ) {
    self.sessions = sessions
    self.bindings = bindings
    self.directory = directory
    self.subscriptions = subscriptions
    self.assistant = assistant
    self.admission = admission
    self.isDraining = isDraining
    self.machineName = machineName
    self.clock = clock
  }

  // MARK: - Prompts

  /// Gives a message to the conversation's session.
  ///
  /// - Parameter earlier: how far an earlier daemon had come with it.
  /// - Returns: the text to show about it.
  package func submit(
    _ message: MessageReceived, _ link: PluginConnection, as mode: Config.Busy, earlier: UnfinishedMessage? = nil
  ) async -> String? {
    let key = link.key(message.conversation)
    let messageKey = MessageKey(conversation: key, id: message.id)
    guard !message.text.trimmingWhitespace().isEmpty || message.attachments?.isEmpty == false else {
      directory.endMessage(messageKey)
      return nil
    }
    // Nothing new is begun: the next daemon finds the message.
    if isDraining() { return nil }
    let session: Session
    switch await chooseSession(for: message, link, meant: earlier?.session) {
    case .session(let chosen): session = chosen
    case .noneChosen(let hadOne):
      await askForChoice(message, link, hadOne: hadOne)
      return nil
    // Another session would have nothing of what was said; the message stays as it is stored.
    case .failed(let error): return "⚠️ Your message waits until pi-relayd is started again: \(error)"
    }
    let prompt = await makePrompt(message, messageKey, link, session, earlier)
    switch await place(prompt, in: session, as: mode) {
    case .notAdmitted:
      directory.endMessage(
        messageKey, .refused, saying: "❌ Too many messages are waiting, so this one was not accepted. Try again later.")
      return nil
    case .steered: return "↪️ The working agent has your message."
    case .unconfirmed:
      return
        "↪️ Given to the working agent, which has not confirmed it yet. If the agent does not take it, it runs next."
    case .withdrawn, .queued(.next), .queued(.parked): return nil
    case .queued(.queued(let before)):
      return "⏳ Queued: it runs when the agent is done" + (before > 1 ? " with \(before) others." : ".")
    case .queued(.undecided(let count)):
      return "⏳ Queued: \(count) messages wait until the question above is decided."
    case .queued(.closed):
      // Closed a moment ago from elsewhere: the message begins another.
      await bindings.unbindAll(from: session)
      return await submit(message, link, as: mode, earlier: earlier)
    case .queued(.full(let count)):
      directory.endMessage(
        messageKey, .refused,
        saying: "❌ \(count) messages are already waiting, so this one was not accepted. Try again later.")
      return nil
    }
  }

  /// The place of a message in the session that it was given to.
  package enum Placement: Sendable, Equatable {
    /// The run in progress has it.
    case steered
    /// Written to the run in progress, which has not confirmed it.
    case unconfirmed
    /// Taken back meanwhile.
    case withdrawn
    /// The assistant takes no more.
    case notAdmitted
    case queued(Session.Enqueued)
  }

  package func place(_ prompt: Prompt, in session: Session, as mode: Config.Busy) async -> Placement {
    if session.role != nil, !admission.admit(prompt.key, isKnown: prompt.life.evidence.isAdmitted) {
      return .notAdmitted
    }
    if mode == .steer {
      switch await session.steer(prompt) {
      case .taken: return .steered
      case .refused: break
      case .unanswered: return .unconfirmed
      case .withdrawn:
        admission.cancel(prompt.key)
        return .withdrawn
      }
    }
    let place = await session.enqueue(prompt)
    if !place.isTaken { admission.cancel(prompt.key) }
    return .queued(place)
  }

  private func makePrompt(
    _ message: MessageReceived, _ key: MessageKey, _ link: PluginConnection, _ session: Session,
    _ earlier: UnfinishedMessage?
  ) async -> Prompt {
    var quoted = message
    // A session that is only looked in on gets the words exactly as they were typed.
    if link.settings(of: message.conversation).use == .control { quoted.replyTo = nil }
    var prompt = Prompt(
      key: key, text: await text(of: quoted, for: session), typed: message.text,
      attachments: message.attachments ?? [], spoolFolder: link.spoolFolder, proxy: link.messenger?.proxy)
    prompt.hosts = link.capabilities.attachmentHosts
    prompt.author = Prompt.Author(id: message.sender.id, name: message.sender.name)
    prompt.life = earlier.map { $0.life(in: session.id) } ?? MessageLifecycle(isAdmitted: key.origin.isHeartbeat)
    return prompt
  }

  /// The text that the agent is given for a message.
  package func text(of message: MessageReceived, for session: Session) async -> String {
    let commands = message.text.hasPrefix("/") ? await agentCommands(of: session) : nil
    return PromptText.compose(message, agentCommands: commands)
  }

  /// Nobody waits for the agent's commands or models for long.
  package static let completionLimit: Duration = .milliseconds(1_500)

  /// The names of the agent's own commands; `nil` while it sleeps, or does not answer soon.
  private func agentCommands(of session: Session) async -> Set<String>? {
    let commands: [PiCommandList.Command]? = try? await withDeadline(Self.completionLimit, clock: clock) {
      await session.fetchCommands()
    }
    return commands.map { Set($0.map(\.name)) }
  }

  // MARK: - Sessions

  private enum Choice {
    case session(Session)
    /// People choose the session of this conversation themselves, and nobody has. With true where there was one.
    case noneChosen(hadOne: Bool)
    case failed(any Error)
  }

  /// - Parameter meant: the session that an earlier daemon chose.
  private func chooseSession(for message: MessageReceived, _ link: PluginConnection, meant: String?) async -> Choice {
    let key = link.key(message.conversation)
    let rights = bindings.rights(of: key)
    if let meant, await isPermitted(meant, to: key, rights), let session = await sessions.session(meant) {
      return .session(session)
    }
    if case .failure(let error) = await bindings.lookUp(key) { return .failed(error) }
    if let id = await bindings.id(of: key), await isPermitted(id, to: key, rights),
      let bound = await sessions.session(id)
    {
      // A conversation that came back after a restart of its messenger watches again.
      await bindings.watch(bound.id, key)
      return .session(bound)
    }
    if case .paired(_, false) = rights { return .noneChosen(hadOne: false) }
    var use = link.settings(of: message.conversation).use
    // The main session is everybody's.
    if rights != .configured, use == .main { use = .own }
    let hadOne = await bindings.id(of: key) != nil
    if use == .control { return .noneChosen(hadOne: hadOne) }
    if hadOne {
      directory.say("The session of this conversation no longer exists; your message starts another.", to: key)
    }
    let session =
      switch use {
      case .main: await mainSession(key, link)
      case .assistant: await assistantSession(message, key, link)
      case .own, .control, nil: await create(key, link)
      }
    await bindings.bind(key, to: session)
    return .session(session)
  }

  private func isPermitted(_ session: String, to key: ConversationKey, _ rights: ConversationRights) async -> Bool {
    guard rights != .configured, let listing = await sessions.listing(session) else { return true }
    return AddressableSessions.permits(listing, to: key, with: rights)
  }

  package func create(
    _ key: ConversationKey, _ link: PluginConnection, name: String? = nil, directory folder: String? = nil,
    model: String? = nil, role: SessionRole? = nil
  ) async -> Session {
    // A local terminal says where it was started; nobody else may choose a folder this way.
    let folder = folder ?? (link.isLocal ? directory.conversation(key)?.directory : nil)
    let wantsImages = directory.settings(key, link).images == .automatic
    return await sessions.create(
      name: name, directory: folder, model: model, wantsToolImages: wantsImages, role: role, home: key, emit: emit)
  }

  /// The receiver of every session's events.
  package var emit: @Sendable (String, SessionEvent) -> Void {
    { [subscriptions, admission] session, event in
      admission.observe(event)
      subscriptions.tell(session, event)
    }
  }

  private func assistantSession(_ message: MessageReceived, _ key: ConversationKey, _ link: PluginConnection) async
    -> Session
  {
    let isOwner = message.conversation.kind == .dm && message.sender.id == assistant.settings.owner
    let isPerson = message.conversation.kind == .dm && !MessageOrigin(id: message.id).isHeartbeat
    let name = message.conversation.title ?? (isPerson ? message.sender.name : "assistant")
    return await create(key, link, name: name, role: isOwner ? .owner : .assistant)
  }

  /// The session that channels share, begun with the first message in one.
  private func mainSession(_ key: ConversationKey, _ link: PluginConnection) async -> Session {
    let finding = findingMain.withLock { finding in
      if let finding { return finding }
      let new = Task { await findMainSession(key, link) }
      finding = new
      return new
    }
    defer { findingMain.withLock { if $0 == finding { $0 = nil } } }
    return await finding.value
  }

  private func findMainSession(_ key: ConversationKey, _ link: PluginConnection) async -> Session {
    if let session = await bindings.session(of: SessionBindings.main) { return session }
    let session = await create(key, link, name: machineName ?? "main")
    await bindings.bind(SessionBindings.main, to: session)
    return session
  }

  private func askForChoice(_ message: MessageReceived, _ link: PluginConnection, hadOne: Bool) async {
    let key = link.key(message.conversation)
    let menu = await SessionMenu(
      sessions: bindings.addressable(from: key).statuses(), beginsByWriting: false,
      current: bindings.listing(of: key)?.id, page: 1, limits: link.capabilities.buttons)
    let why = hadOne ? "The session you talked to no longer exists." : "You talk to no session yet."
    if case .paired(_, false) = bindings.rights(of: key) {
      return directory.endMessage(
        MessageKey(conversation: key, id: message.id),
        saying: "You talk to no session. Choose one with /use.\n\(menu.text)",
        buttons: menu.buttons)
    }
    let advice =
      menu.isEmpty
      ? menu.text : "Choose one with /sessions and write again, or begin one with /new.\n\(menu.text)"
    directory.endMessage(
      MessageKey(conversation: key, id: message.id), saying: "\(why) \(advice)", buttons: menu.buttons)
  }
}
