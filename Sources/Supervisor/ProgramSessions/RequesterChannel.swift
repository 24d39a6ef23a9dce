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
/// conversation of that message and no other.
package final class RequesterChannel: Sendable {
  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let directory: ConversationDirectory
  private let logger: Logger

  package init(store: SQLiteStore, sessions: SessionRegistry, directory: ConversationDirectory, logger: Logger) {
    self.store = store
    self.sessions = sessions
    self.directory = directory
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
    guard let link = directory.link(key.instance) else {
      throw WireError(.unavailable, "the messenger of the requester is not connected now; try again later")
    }
    guard let maximumBytes = link.capabilities.maximumFileBytes else {
      throw WireError(.unavailable, "the requester's messenger takes no files")
    }
    let copy = "\(link.spoolFolder)/\(UUID().uuidString)"
    let file: WorkspaceFile
    do {
      file = try await withTaskExecutorPreference(globalConcurrentExecutor) {
        let file = try WorkspaceFile(path, in: session.directory, maximumBytes: maximumBytes)
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
