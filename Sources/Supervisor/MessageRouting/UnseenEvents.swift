internal import AgentSessions
internal import Conversations
internal import Logging
internal import RelayLogging
internal import RelayModel
internal import RelayStore

/// Tells conversations of what concerns them in sessions that they have turned away from.
struct UnseenEvents: Sendable {
  let store: SQLiteStore
  let sessions: SessionRegistry
  let directory: ConversationDirectory
  let questions: QuestionRegistry
  let logger: Logger

  /// A message of the conversation has ended.
  func ended(_ end: MessageEnd, _ how: RunEnd) async {
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
  func asked(_ record: PendingQuestion, _ key: ConversationKey) async {
    guard questions.record(record.id) != nil,
      let name = await sessions.session(record.session)?.name
    else { return }
    directory.post(.askedElsewhere(record, session: name), to: key)
  }
}
