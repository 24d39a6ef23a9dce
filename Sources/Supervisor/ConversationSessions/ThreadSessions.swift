package import AgentSessions
package import ChatCommands
internal import FoundationEssentials
package import Logging
package import PluginRuntime
internal import RelayConcurrency
internal import RelayLogging
internal import RelayModel
package import RelayStore
package import RelayText
package import RelayWire
package import SessionCatalog

/// Threads with a session of their own: opened by `/spawn`, closed with their thread.
package final class ThreadSessions: Sendable {
  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let directory: ConversationDirectory
  private let bindings: SessionBindings
  private let prompts: PromptRouter
  private let redaction: Redactor
  private let machineName: String
  private let logger: Logger

  /// The longest title of a thread, in characters.
  private static let maximumTitleLength = 90

  package init(
    store: SQLiteStore, sessions: SessionRegistry, directory: ConversationDirectory, bindings: SessionBindings,
    prompts: PromptRouter, redaction: Redactor, machineName: String, logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.directory = directory
    self.bindings = bindings
    self.prompts = prompts
    self.redaction = redaction
    self.machineName = machineName
    self.logger = logger
  }

  /// Opens a thread and begins a session there, with its first task where it has one.
  ///
  /// - Parameter call: the message that called for it.
  /// - Throws: the messenger's refusal.
  /// - Returns: the thread's title.
  package func open(
    for request: NewSession, title: String, called call: MessageReceived, _ link: PluginConnection
  ) async throws -> String {
    let (thread, key) = try await make(title, beside: call.conversation, link)
    let context = directory.context(key, thread, link)
    await begin(
      await prompts.create(key, link, name: title, directory: request.folder, model: request.model), in: key)
    if let task = request.task {
      let message = MessageReceived(
        id: MessageOrigin.firstTask(call.id).id, conversation: thread, sender: call.sender, text: task)
      do {
        let stored = StoredMessage(key: MessageKey(conversation: key, id: message.id), message: message)
        if try await store.accept(stored, state: nil) { context.inbox.post(.message(message, link)) }
      } catch {
        logger.with(key).error("the first task of a session could not be stored: \(error)")
        directory.say("⚠️ Its task could not be stored; write it again.", to: key)
      }
    }
    return thread.title.map { TextSanitizer.line($0) } ?? title
  }

  /// Opens a thread for a session that an agent has begun.
  ///
  /// - Parameter conversation: that of the message which the agent works on.
  /// - Throws: the messenger's refusal.
  package func open(for session: Session, beside conversation: Conversation, _ link: PluginConnection) async throws {
    let (thread, key) = try await make(await session.name, beside: conversation, link)
    _ = directory.context(key, thread, link)
    await begin(session, in: key)
  }

  private func make(
    _ title: String, beside conversation: Conversation, _ link: PluginConnection
  ) async throws -> (Conversation, ConversationKey) {
    // In a thread, beside it.
    let parent = conversation.parent ?? conversation.id
    let thread = try await link.request(
      ThreadCreate(
        key: UUID().uuidString, conversation: parent, title: redaction.line(title, limit: Self.maximumTitleLength))
    ).conversation
    return (thread, link.key(thread))
  }

  private func begin(_ session: Session, in key: ConversationKey) async {
    await bindings.bind(key, to: session)
    directory.say(
      "Session \(await session.name) in \(session.directory) on \(machineName). Write here to talk to it.", to: key)
  }

  /// A thread that was archived lets its session sleep; with one that is deleted its session ends.
  package func closed(_ closing: ConversationClosed, _ link: PluginConnection) async throws {
    let key = link.key(closing.conversation)
    guard let id = await bindings.listing(of: key)?.id else { return }
    let isShared = try await store.conversations(of: id).contains { $0 != key }
    guard closing.deleted == true else {
      // A working session finishes its run, and sleeps after its idle time.
      if !isShared, let session = await sessions.awake(id) {
        directory.taskScope.add { _ = await session.makeRoom() }
      }
      return
    }
    await bindings.unbind(key)
    guard !isShared, closing.conversation.kind == .thread, let session = await sessions.session(id) else { return }
    let name = await session.name
    logger.with(key).with("session", id).notice("its thread was deleted, so the session \(name) is closed")
    directory.taskScope.add { [sessions] in await sessions.close(session) }
  }
}
