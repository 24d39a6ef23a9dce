internal import AgentExtension
internal import AgentSessions
package import ConversationSessions
internal import Conversations
internal import FoundationEssentials
package import Logging
internal import MessageDelivery
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayLogging
internal import RelayModel
package import RelayStore
package import RelayWire
package import SessionCatalog

/// The way from an agent to the person whose message it works on: texts and files that the agent sends by itself, to the
/// conversation of that message and no other. Files that a person at the terminal sends go to all conversations.
package final class RequesterChannel: Sendable {
  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let bindings: SessionBindings
  private let directory: ConversationDirectory
  private let threads: ThreadSessions
  private let logger: Logger

  package init(
    store: SQLiteStore, sessions: SessionRegistry, bindings: SessionBindings, directory: ConversationDirectory,
    threads: ThreadSessions, logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.bindings = bindings
    self.directory = directory
    self.threads = threads
    self.logger = logger
  }

  /// Shows a text.
  package func send(_ text: String, from session: String) async throws(WireError) {
    let (key, _) = try await requester(of: session)
    directory.post(.say(text, .answer, buttons: nil), to: key)
  }

  /// Sends a file of the agent's workspace.
  ///
  /// - Returns: the name that people see.
  package func sendFile(_ path: String, caption: String?, from id: String) async throws(WireError) -> String {
    // Before the path is looked at: an agent without a requester learns nothing of files.
    let (key, session) = try await requester(of: id)
    return try await sendFile(path, caption: caption, in: session.directory, to: key)
  }

  /// Shows the requester a session that the agent has begun: in a thread of its own, where there can be one.
  package func present(_ begun: String, from session: String) async {
    // A turn that nobody in a chat waits for begins sessions, too.
    guard let (key, _) = try? await requester(of: session), let link = directory.link(key.instance),
      let conversation = directory.conversation(key), let new = await sessions.session(begun)
    else { return }
    let name = await new.name
    guard link.capabilities.threads == true, conversation.kind != .dm else {
      return directory.say("The agent has begun the session \(name). /use \(name) talks to it.", to: key)
    }
    do {
      try await threads.open(for: new, beside: conversation, link)
    } catch {
      logger.with(key).warning("a thread for the session \(name) could not be opened: \(error)")
      directory.say(
        "⚠️ The agent has begun the session \(name), and no thread could be opened for it: \(error). /use \(name) talks to it.",
        to: key)
    }
  }

  /// Sends a file of a session's directory to the conversations that talk to the session.
  ///
  /// - Returns: the file's name, the number of conversations that it was sent to, and why others do not have it.
  package func sendFileToFollowers(
    _ path: String, caption: String?, of id: String
  ) async throws(WireError) -> (name: String, count: Int, problems: [String]) {
    guard let session = await sessions.session(id) else { throw WireError(.invalidParams, "the session was closed") }
    let keys: [ConversationKey]
    do {
      keys = try await store.conversations(of: id).filter { directory.conversation($0) != nil }
    } catch {
      throw WireError(.internalError, "the chats of the session could not be read: \(error)")
    }
    guard !keys.isEmpty else { throw WireError(.unavailable, "no chat follows this session") }
    var (names, problems): ([String], [WireError]) = ([], [])
    for key in keys {
      do {
        names.append(try await sendFile(path, caption: caption, in: session.directory, to: key))
      } catch {
        problems.append(error)
      }
    }
    guard let name = names.first else { throw problems[0] }
    return (name, names.count, problems.map(\.message))
  }

  private func sendFile(
    _ path: String, caption: String?, in folder: String, to key: ConversationKey
  ) async throws(WireError) -> String {
    guard let link = directory.link(key.instance) else {
      throw WireError(.unavailable, "the messenger \(key.instance) is not connected now; try again later")
    }
    guard let maximumBytes = link.capabilities.maximumFileBytes else {
      throw WireError(.unavailable, "the messenger \(key.instance) takes no files")
    }
    let copy = "\(link.spoolFolder)/\(UUID().uuidString)"
    let file: WorkspaceFile
    do {
      file = try await withTaskExecutorPreference(globalConcurrentExecutor) {
        let file = try WorkspaceFile(path, in: folder, maximumBytes: maximumBytes)
        try file.copy(to: copy)
        return file
      }
    } catch let refusal as WorkspaceFile.Refusal {
      throw WireError(.invalidParams, refusal.description)
    } catch {
      logger.with(key).error("a file of the agent could not be copied for the messenger: \(error)")
      throw WireError(.internalError, "\(path) could not be copied for the messenger")
    }
    let sent = await directory.delivery(to: key).send(file: copy, name: file.name, mime: file.mime, caption: caption)
    await remove(copy, key)
    guard sent != nil else {
      throw WireError(.internalError, "\(file.name) could not be sent; the person was told why")
    }
    return file.name
  }

  /// The conversation whose message the agent works on.
  private func requester(of id: String) async throws(WireError) -> (ConversationKey, Session) {
    guard let session = await sessions.awake(id), let message = await session.messageAtWork else {
      throw WireError(
        .unavailable,
        "nobody in a chat waits for this turn, so there is nobody to send to; say it in your answer instead")
    }
    let key = message.conversation
    guard !key.isProgram, directory.conversation(key) != nil else {
      throw WireError(
        .unavailable, "this turn was asked for by a program, which takes no messages; say it in your answer")
    }
    guard await bindings.id(of: key) == id else {
      throw WireError(
        .unavailable, "the person who asked for this turn talks to another session now; say it in your answer instead")
    }
    return (key, session)
  }

  /// Removes the copy once its send is stored as settled.
  private func remove(_ path: String, _ key: ConversationKey) async {
    do {
      try await store.settled()
      try FileManager.default.removeItem(atPath: path)
    } catch {
      logger.with(key).warning("a file that is no longer needed could not be removed: \(error)")
    }
  }
}
