package import RelayModel
package import RelayWire
package import SessionStates

/// An event that a conversation shows, or that its messenger is told.
package enum OutputEvent: Sendable {
  case event(SessionEvent)
  case say(String, MessageRole, buttons: [[Button]]?, replyTo: String? = nil)
  /// Says how a message ended of which nothing else is heard, and ends it.
  case report(String, MessageEnd, buttons: [[Button]]? = nil)
  /// Says something new in place of the text of a message, which ends another.
  case change(String, String, buttons: [[Button]]?, MessageEnd)
  /// Continues what an earlier daemon recorded and did not bring to its end.
  case resume(UnfinishedOutbound)
  case ask(PendingQuestion)
  /// A session that the conversation no longer watches asks.
  case askedElsewhere(PendingQuestion, session: String)
  /// A message has ended, and nothing more is shown about it.
  case end(MessageEnd)
  /// The outcome of this message was not reported to the messenger yet.
  case tell(MessageEnd)
  case settleDialog(PendingQuestion, PendingQuestion.Outcome)
  case detached
}

/// A reminder of a conversation's output to itself.
enum OutputTimer: Sendable, Equatable {
  /// The growing message may be changed; with the number of the schedule.
  case flush(Int)
  case toolIsSlow(String)
  /// The agent has not begun yet; with the number of the run.
  case runIsSlow(Int)
}

/// An entry of the queue of a conversation's output.
enum OutputItem: Sendable {
  case output(OutputEvent)
  case timer(OutputTimer)
  /// More waited than is kept for a messenger that is away.
  case leftOut(tools: Int, messages: Int)
}
