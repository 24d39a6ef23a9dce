package import PiRPC
package import RelayStore
package import RelayWire

/// What happens in a session, for those who watch it.
package enum SessionEvent: Sendable, Equatable {
  /// Work on a message begins. `text` is what was typed, `origin` where: other watchers are shown it.
  case runStarted(MessageKey?, text: String)
  /// The agent has begun to work.
  case agentStarted
  /// The message is being given to the agent.
  case messageGiven(MessageKey)
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
  case dialogOpened(PiDialog, of: MessageKey?)
  /// The agent no longer waits for this answer.
  case dialogWithdrawn(id: String, why: String)
  /// What the program before this one had asked over the message needs no answer any more.
  case questionsOver
  /// The message ends in this stage once the conversation it came from has been told all.
  case runEnded(MessageKey?, RunEnd, MessageStage)
  /// The message went into the run of another.
  case messageTaken(MessageKey)
  /// The run may have taken the message, changed by an extension: what follows may be its answer.
  case messageMayBeTaken(MessageKey)
  /// The message was taken back before the agent had it.
  case messageWithdrawn(MessageKey)
  /// The message was taken back too late, as it seemed, and the agent did not take it after all.
  case messageNotTaken(MessageKey)
}

/// Work that takes its time and is told while it does.
package enum ProgressKind: String, Sendable { case compaction, retry }

/// How a run ended.
package enum RunEnd: Sendable, Equatable {
  case completed
  case aborted
  /// The person took the message back, and the agent did not take it.
  case withdrawn
  /// Text for the person: what went wrong and what to do.
  case failed(String)
  /// The same, where the agent has no memory of the message, so that it may be run again.
  case forgotten(String, Prompt)
  /// The agent took the message without a run: one of its own commands.
  case handled

  /// For a message that was said to be with the agent.
  static let notTaken = "🗑️ The agent did not take that message after all: it is withdrawn, and does not run."

  /// Text for the person; nil where nothing went wrong.
  var problem: String? {
    switch self {
    case .failed(let why), .forgotten(let why, _): why
    case .completed, .aborted, .withdrawn, .handled: nil
    }
  }

  var outcome: MessageSettled.Outcome {
    switch self {
    case .completed: .answered
    case .aborted, .withdrawn: .stopped
    case .failed, .forgotten: .failed
    case .handled: .handled
    }
  }
}

/// A message on its way to the agent.
package struct Prompt: Codable, Sendable, Equatable {
  package var key: MessageKey
  /// As the agent gets it, before attachments.
  package var text: String
  /// As the person typed it.
  package var typed: String
  package var attachments: [Attachment]
  package var spoolFolder: String
  package var proxy: String?
  /// Hosts that the messenger's attachments come from.
  package var hosts: [String]?
  /// How often the agent ended before it had taken this message.
  package var attempts = 0
  /// It may have reached an earlier life of the agent; `entryBefore` is the session's last entry before that.
  package var isUncertain = false
  /// Taken already, by an earlier daemon or on the owner's behalf: no full queue refuses it.
  package var isAdmitted = false
  /// It was withdrawn while it was on its way: where the agent does not have it, it is not to be given.
  package var isWithdrawn = false
  package var entryBefore: String?

  package init(
    key: MessageKey, text: String, typed: String, attachments: [Attachment] = [], spoolFolder: String = "",
    proxy: String? = nil
  ) {
    self.key = key
    self.text = text
    self.typed = typed
    self.attachments = attachments
    self.spoolFolder = spoolFolder
    self.proxy = proxy
  }
}

/// How a session is doing, for `/status` and `pi-relayd sessions`.
package struct SessionStatus: Sendable, Codable, Equatable {
  package enum Activity: String, Sendable, Codable { case stopped, starting, idle, working, compacting }

  package var id: String
  package var name: String
  package var directory: String
  package var activity: Activity
  package var model: String?
  package var pid: Int32?
  package var queued: Int
  package var openDialogs: Int
  package var sessionFile: String?
  package var restarts: Int
  package var isDemo: Bool
}
