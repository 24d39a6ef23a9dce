internal import AgentSessions
internal import ChatCommands
internal import ConversationSessions
internal import Pairings
internal import PluginRuntime
internal import RelayConfig
internal import RelayHome
internal import RelayModel
internal import RelayWire
internal import SessionCatalog

/// A call of a command in a conversation: the actions that the command may take there, and its record.
struct CommandRun: CommandContext {
  let message: MessageReceived
  private let command: any ChatCommand
  private let arguments: String
  private let link: PluginConnection
  private let dispatcher: MessageDispatcher

  init(
    _ command: any ChatCommand, _ arguments: String, _ message: MessageReceived, _ link: PluginConnection,
    _ dispatcher: MessageDispatcher
  ) {
    self.command = command
    self.arguments = arguments
    self.message = message
    self.link = link
    self.dispatcher = dispatcher
  }

  private var key: ConversationKey { link.key(message.conversation) }
  private var messageKey: MessageKey { MessageKey(conversation: key, id: message.id) }
  private var directory: ConversationDirectory { dispatcher.directory }
  private var bindings: SessionBindings { dispatcher.bindings }

  // MARK: - Carrying out

  func run() async {
    switch command.durability {
    case .byPrompt:
      if let answer = await carryOut() { directory.say(answer, to: key, about: messageKey) }
      return
    case .untilDone:
      guard await isRecorded() else { return }
      if let answer = await carryOut() { directory.say(answer, to: key, about: messageKey) }
      return
    case .none: break
    case .bestEffort: _ = await dispatcher.beginHandling(messageKey)
    case .beforeRun: guard await isRecorded() else { return }
    }
    let text = await carryOut()
    let hasButtons = (directory.link(key.instance) ?? link).capabilities.buttons != nil
    let buttons = text == nil || !hasButtons ? nil : await command.buttons(arguments, in: self)
    directory.endMessage(messageKey, saying: text, buttons: buttons)
  }

  private func isRecorded() async -> Bool {
    if await dispatcher.beginHandling(messageKey) { return true }
    directory.say(
      "⚠️ /\(command.name) was not carried out, because nothing can be stored. Try again later.", to: key,
      about: messageKey)
    return false
  }

  /// Commands read directories, and a slow disk must not hold up the event loop.
  func carryOut() async -> String? {
    guard command.audience.includes(bindings.rights(of: key)) else {
      return
        "/\(command.name) is not for people who were paired with a session. /sessions lists those that you may use."
    }
    return await withTaskExecutorPreference(globalConcurrentExecutor) { await command.run(arguments, in: self) }
  }

  /// The buttons of the menu that shows this command's answer.
  func menuButtons() async -> [[Button]]? {
    if let buttons = await command.buttons(arguments, in: self) { return buttons }
    return await menu().buttons
  }

  // MARK: - The conversation

  var conversation: Conversation { message.conversation }
  var capabilities: Capabilities { link.capabilities }
  var isLocal: Bool { link.isLocal }
  var home: String { dispatcher.sessions.dependencies.home.path }
  var beginsByWriting: Bool { bindings.beginsByWriting(key) }

  func session() async -> Session? { await bindings.session(of: key) }
  func listing() async -> SessionListing? { await bindings.listing(of: key) }
  func awakeSession() async -> Session? { await bindings.awakeSession(of: key) }
  func addressableSessions() async -> AddressableSessions { await bindings.addressable(from: key) }

  func wake(_ listing: SessionListing) async -> Session? { await dispatcher.sessions.session(listing.id) }

  func create(_ request: NewSession) async -> Session {
    await dispatcher.prompts.create(
      key, link, name: request.name, directory: request.folder, model: request.model)
  }

  func bind(to session: Session) async { await bindings.bind(key, to: session, because: messageKey) }
  func unbind() async { await bindings.unbind(key) }

  func endPairing(with session: Session) async -> Bool {
    await dispatcher.pairing.revocation.leave(session.id, in: key, asked: message)
  }

  func rename(_ session: Session, to name: String) async -> String {
    await dispatcher.sessions.rename(session, to: name, from: key)
  }

  func use(model: String, in session: Session) async { await dispatcher.sessions.use(model: model, in: session) }

  func close(_ session: Session) async {
    // The watchers are told of the session's end before they stop watching.
    await dispatcher.sessions.close(session)
    await bindings.unbindAll(from: session, closedBy: key)
  }

  func admittedDirectory(_ path: String) async -> String? { await dispatcher.sessions.workplace(path) }

  func uncommittedChanges(in directory: String) async -> String? {
    await GitWorkspace.changes(in: directory, dispatcher.sessions.dependencies)
  }

  func submit(_ text: String, as mode: Config.Busy) async -> String? {
    var words = message
    words.text = text
    return await dispatcher.prompts.submit(words, link, as: mode)
  }

  func end(saying text: String?) async { directory.endMessage(messageKey, saying: text) }

  func compact(_ session: Session, keeping instructions: String?) async {
    dispatcher.compact(session, keeping: instructions, for: messageKey)
  }

  func openThread(for request: NewSession, title: String) async throws -> String {
    try await dispatcher.threads.open(for: request, title: title, called: message, link)
  }
}
