internal import AgentSessions
package import Conversations
package import Logging
internal import RelayLogging
package import RelayModel
package import RelayStore
package import SessionCatalog

/// Tells conversations of what concerns them in sessions that they have turned away from.
package struct UnseenEvents: Sendable {
  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let directory: ConversationDirectory
  private let questions: QuestionRegistry
  private let logger: Logger

  package init(
    store: SQLiteStore, sessions: SessionRegistry, directory: ConversationDirectory, questions: QuestionRegistry,
    logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.directory = directory
    self.questions = questions
    self.logger = logger
  }

  /// A message of the conversation has ended.
  package func ended(_ end: MessageEnd, _ how: RunEnd) async {
    if let output = directory[end.key.conversation]?.output {
      if let why = how.problem {
        output.post(.report("❌ In the session you left: \(why)", end))
      } else {
        output.post(.end(end))
      }
      return
    }
    do {
      try await store.end(end)
    } catch {
      logger.with(end.key.conversation).error("the end of a message was not stored: \(error)")
    }
  }

  /// The session asks something about a message of the conversation, and waits.
  package func asked(_ record: PendingQuestion, _ key: ConversationKey) async {
    guard questions.record(record.id) != nil,
      let name = await sessions.session(record.session)?.name
    else { return }
    directory.post(.askedElsewhere(record, session: name), to: key)
  }
}
