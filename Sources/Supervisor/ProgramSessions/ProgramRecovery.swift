internal import AgentSessions
package import ConversationSessions
package import Conversations
package import Logging
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
package import RelayModel
package import RelayStore
package import RelayText
internal import RelayWire
package import SessionCatalog
internal import SessionStates

/// Continues the messages of programs that an earlier daemon left unfinished.
package final class ProgramRecovery: Sendable {
  private struct Interruption {
    let message: MessageEnd
    let end: RunEnd
  }

  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let directory: ConversationDirectory
  private let subscriptions: SessionSubscriptions
  private let prompts: PromptRouter
  private let messages: ProgramMessages
  private let files: ProgramFiles
  private let redaction: Redactor
  private let logger: Logger
  /// Runs of an earlier daemon, of which the watchers of their sessions are told when they come; by session.
  private let interruptions = Locked<[String: [Interruption]]>([:])

  package init(
    store: SQLiteStore, sessions: SessionRegistry, directory: ConversationDirectory,
    subscriptions: SessionSubscriptions, prompts: PromptRouter, messages: ProgramMessages, files: ProgramFiles,
    redaction: Redactor, logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.directory = directory
    self.subscriptions = subscriptions
    self.prompts = prompts
    self.messages = messages
    self.files = files
    self.redaction = redaction
    self.logger = logger
  }

  /// Removes the files that no unfinished message needs, those included with which a session continues.
  package func sweepFiles() async throws {
    let unfinished = try await store.unfinishedMessages(of: ConversationKey.programs)
    files.sweep(keeping: Set(unfinished.map(\.stored.key)))
  }

  /// Awaits no write.
  ///
  /// - Parameter untold: ends of which the watchers of the session may not have been told.
  package func recover(_ unfinished: [UnfinishedMessage], untold: [MessageEnd]) async {
    for end in untold {
      if end.stage == .interrupted, let session = await sessions.session(end.key.conversation.conversation) {
        let why = "pi-relayd was restarted while the agent worked on the message of a program."
        note(end, await session.interruption(why), of: session)
      } else {
        store.scheduleOutcomeTold(end.key)
      }
    }
    for one in unfinished { await recover(one) }
    if !unfinished.isEmpty {
      logger.with("instance", ConversationKey.programs).notice(
        "\(unfinished.count) message(s) were left unfinished, and are continued")
    }
  }

  private func recover(_ unfinished: UnfinishedMessage) async {
    let key = unfinished.stored.key
    guard let session = await sessions.session(key.conversation.conversation) else {
      return messages.ended(MessageEnd(received: key, .refused))
    }
    var life = MessageLifecycle(restoring: unfinished.stage, isWithdrawn: unfinished.isWithdrawn)
    life.take(.foundAfterRestart)
    guard let end = MessageEnd(key, life) else {
      let prompt = ProgramMessages.prompt(unfinished, in: session.id, files.folder)
      _ = await prompts.place(prompt, in: session, as: .followUp)
      return
    }
    guard end.stage == .interrupted else { return messages.ended(end) }
    // The watchers come with their messengers; until one has, the outcome stays untold.
    store.scheduleEnd(end, isTold: false)
    files.remove(key)
    let words = redaction.line(unfinished.stored.message.text, limit: 80)
    let why = "pi-relayd was restarted while the agent worked on \"\(words)\"."
    note(end, await session.interruption(why), of: session)
  }

  private func note(_ message: MessageEnd, _ end: RunEnd, of session: Session) {
    interruptions.withLock { $0[session.id, default: []].append(Interruption(message: message, end: end)) }
  }

  /// Tells a conversation that watches a session of the runs that were interrupted there.
  package func report(_ session: String, to key: ConversationKey) {
    guard subscriptions.shows(session, to: key) else { return }
    for one in interruptions.withLock({ $0[session] }) ?? [] {
      directory.post(.event(.runEnded(one.message, one.end)), to: key)
      store.scheduleOutcomeTold(one.message.key)
    }
  }
}
