package import PiRPC
package import RelayJSON
package import RelayModel
internal import RelayWire

/// An event of a session, for its watchers.
package enum SessionEvent: Sendable, Equatable {
  /// Work on a message begins. Watchers in other conversations than the message's are shown its `text`, as it was typed.
  case runStarted(MessageKey?, text: String)
  /// A person has typed a message in the agent's own terminal; the agent works on it.
  case typed(String)
  /// The agent has begun to work.
  case agentStarted
  /// The message is being given to the agent, which is there; the `text` is as it was typed.
  case messageGiven(MessageKey, text: String)
  case text(String)
  /// A message of the agent is complete; its text is authoritative.
  case messageEnded(PiMessage)
  case toolStarted(id: String, name: String, arguments: JSONValue)
  case toolEnded(id: String, name: String, failed: Bool, images: [PiImage])
  case notice(String)
  /// People are shown another name or model of the session.
  case nameOrModelChanged
  /// Shown in one message of its kind, which changes until it is over; without text, nothing of it stays.
  case progress(ProgressKind, String?, isOver: Bool)
  /// The run takes longer than it may, and is stopped.
  case timedOut(MessageKey?, after: Duration)
  case dialogOpened(Question, of: MessageKey?)
  /// The agent no longer waits for this answer.
  case dialogWithdrawn(id: String, why: String)
  /// Questions of the previous process about the message need no answer any more.
  case questionsOver
  /// The message ends like this once the conversation it came from has been told all.
  case runEnded(MessageEnd, RunEnd)
  /// The message went into the run of another.
  case messageTaken(MessageEnd)
  /// The run may have taken the message, changed by an extension: what follows may be its answer.
  case messageMayBeTaken(MessageKey)
  /// The message ended without a run: it was taken back, or stopped with the run that it was written to.
  case messageDropped(MessageEnd)
  /// The message was taken back too late, as it seemed, and the agent did not take it after all.
  case messageNotTaken(MessageEnd)
  /// The session is closed: no event follows.
  case closed
}

/// Work that takes its time and is told while it does.
package enum ProgressKind: String, Sendable { case compaction, retry }
