package import RelayWire

/// How far a message has come. Every one ends as settled, interrupted or dropped.
package enum MessageStage: Sendable, Equatable {
  case received
  /// A command, or the answer to a question, is being carried out.
  case handling
  /// Handed to the agent; whether it took it is not known yet. `after` is the session's last entry before it.
  case dispatching(session: String, after: String?)
  case accepted(session: String)
  case settled
  case interrupted
  case dropped

  package var session: String? {
    switch self {
    case .dispatching(let session, _), .accepted(let session): session
    default: nil
    }
  }

  package var isFinal: Bool {
    switch self {
    case .settled, .interrupted, .dropped: true
    case .received, .handling, .dispatching, .accepted: false
    }
  }
}

/// A message that is stored as on its way to a session's agent.
package struct OnItsWay: Sendable, Hashable {
  package var message: MessageKey
  /// What is stored as the session's last entry before it.
  package var last: String

  package init(message: MessageKey, last: String) {
    self.message = message
    self.last = last
  }
}

/// Whether a session has a message.
package enum Holding: Sendable { case yes, no, unknown }

package struct StoredMessage: Sendable, Equatable {
  package var key: MessageKey
  package var message: MessageReceived
  /// A question waited for an answer when it came.
  package var isAnswer: Bool

  package init(key: MessageKey, message: MessageReceived, isAnswer: Bool = false) {
    self.key = key
    self.message = message
    self.isAnswer = isAnswer
  }
}

/// A message that has not ended.
package struct UnfinishedMessage: Sendable, Equatable {
  package var stored: StoredMessage
  package var stage: MessageStage
  /// The session it is for, where the conversation has turned to another since.
  package var session: String?
  /// The person has taken it back while it waited.
  package var isWithdrawn = false

  package init(stored: StoredMessage, stage: MessageStage, session: String? = nil, isWithdrawn: Bool = false) {
    self.stored = stored
    self.stage = stage
    self.session = session
    self.isWithdrawn = isWithdrawn
  }
}

/// A message and how it ended.
package struct MessageEnd: Sendable, Equatable {
  package var key: MessageKey
  package var stage: MessageStage
  /// What its messenger is to be told.
  package var outcome: MessageSettled.Outcome
  /// Its words are kept, so that it can be run again.
  package var keepsWords: Bool

  package init(
    _ key: MessageKey, _ stage: MessageStage, _ outcome: MessageSettled.Outcome, keepsWords: Bool = false
  ) {
    self.key = key
    self.stage = stage
    self.outcome = outcome
    self.keepsWords = keepsWords
  }

  /// What native commands and pressed buttons are stored under, before their own ids.
  package static let commandPrefix = "command:"
  package static let actionPrefix = "action:"

  /// The native command or the press of a button that has ended, as messengers know it.
  package var interaction: String? { Self.isInteraction(key.id) ? key.id : nil }

  package static func isInteraction(_ id: String) -> Bool { id.hasPrefix(commandPrefix) || id.hasPrefix(actionPrefix) }
}
