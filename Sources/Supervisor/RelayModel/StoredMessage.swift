package import RelayWire

/// The stored stage of a message. Every message ends as settled, interrupted or dropped.
package enum MessageStage: Sendable, Equatable {
  case received
  /// A command, or the answer to a question, is being carried out.
  case handling
  /// Handed to the agent; whether it took it is not known yet. `after` is the end of the transcript before it.
  case dispatching(session: String, after: TranscriptPosition)
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

  /// For programs.
  package var name: String {
    switch self {
    case .received: "received"
    case .handling: "handling"
    case .dispatching: "dispatching"
    case .accepted: "accepted"
    case .settled: "settled"
    case .interrupted: "interrupted"
    case .dropped: "dropped"
    }
  }

  package var isFinal: Bool {
    switch self {
    case .settled, .interrupted, .dropped: true
    case .received, .handling, .dispatching, .accepted: false
    }
  }
}

/// The end of a session's transcript, so that its later entries can be told from its earlier ones.
package enum TranscriptPosition: Sendable, Hashable, Codable {
  /// The agent did not say, or the transcript proves nothing about a message.
  case unknown
  /// The transcript had no entry.
  case empty
  /// The identifier of the last entry.
  case after(String)
}

/// The result of looking for a message in a session's transcript.
package enum TranscriptLookup: Sendable, Hashable, CaseIterable { case present, absent, inconclusive }

/// A message that is stored as on its way to a session's agent.
package struct DispatchedMessage: Sendable, Hashable {
  package var message: MessageKey
  /// The stored end of the transcript before it.
  package var position: TranscriptPosition

  package init(message: MessageKey, position: TranscriptPosition) {
    self.message = message
    self.position = position
  }
}

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

  /// Its life as a session continues it.
  ///
  /// - Parameter current: the session it goes to now. The transcript of another session proves nothing about it.
  package func life(in current: String) -> MessageLifecycle {
    var position = TranscriptPosition.unknown
    if case .dispatching(current, let stored) = stage { position = stored }
    var life = MessageLifecycle(restoring: stage, position: position, isWithdrawn: isWithdrawn)
    life.take(.foundAfterRestart)
    return life
  }

  package init(stored: StoredMessage, stage: MessageStage, session: String? = nil, isWithdrawn: Bool = false) {
    self.stored = stored
    self.stage = stage
    self.session = session
    self.isWithdrawn = isWithdrawn
  }
}

/// The end of a message.
package struct MessageEnd: Sendable, Equatable {
  package var key: MessageKey
  package var stage: MessageStage
  /// The outcome to report to its messenger.
  package var outcome: MessageSettled.Outcome
  /// Its words are kept, so that it can be run again.
  package var keepsWords: Bool

  /// The end that a message's life has come to; `nil` while the message has not ended.
  ///
  /// - Parameter outcome: that of the run, where the message had one.
  package init?(_ key: MessageKey, _ life: MessageLifecycle, outcome: MessageSettled.Outcome? = nil) {
    guard let conclusion = life.conclusion else { return nil }
    self.init(restored: key, conclusion.stage, outcome ?? conclusion.outcome)
  }

  /// The end of a message that no session has: a command, an answer, or a message that was not accepted.
  ///
  /// - Parameter end: the event that ends the message.
  package init(received key: MessageKey, _ end: MessageLifecycle.ReceivedEnd) {
    let conclusion = end.conclusion
    self.init(restored: key, conclusion.stage, conclusion.outcome)
  }

  /// An end as it is stored.
  package init(
    restored key: MessageKey, _ stage: MessageStage, _ outcome: MessageSettled.Outcome, keepsWords: Bool = false
  ) {
    self.key = key
    self.stage = stage
    self.outcome = outcome
    self.keepsWords = keepsWords
  }

  /// The native command or the press of a button that has ended, as messengers know it.
  package var interaction: String? { key.origin.isInteraction ? key.id : nil }
}
