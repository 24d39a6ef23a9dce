package import RelayModel

/// The session's place in the agent's transcript, and the messages of earlier processes that were looked up in it. A pure
/// value.
package struct TranscriptCursor {
  /// The last entry when it was last asked for: only newer entries are asked for again.
  package private(set) var lastEntry: String?
  /// Of messages that an earlier process may have given to the agent: whether the transcript has them. `nil` before that
  /// has been looked up, which is done before anything new is given.
  private var lookups: [MessageKey: TranscriptLookup]?

  /// - Parameter isRestored: an earlier process may have given messages to the agent.
  package init(isRestored: Bool) { lookups = isRestored ? nil : [:] }

  /// Continues with the agent of an earlier process.
  package mutating func adopt(lastEntry: String?) {
    self.lastEntry = lastEntry
    lookups = nil
  }

  /// The transcript begins anew.
  package mutating func clear() { lastEntry = nil }

  // MARK: - Look-ups

  package var isReconciled: Bool { lookups != nil }

  package mutating func reconcile(_ found: [DispatchedMessage: TranscriptLookup]) {
    lookups = Dictionary(found.map { ($0.key.message, $0.value) }, uniquingKeysWith: { $1 })
  }

  /// Takes the result for a message; it counts once.
  package mutating func takeLookup(of message: MessageKey) -> TranscriptLookup? {
    lookups?.removeValue(forKey: message)
  }

  /// A result proves nothing about a message that was given again since.
  package mutating func forgetLookup(of message: MessageKey) { lookups?[message] = nil }

  // MARK: - Position

  /// The position after an answer to the question for entries that follow `lastEntry`.
  ///
  /// - Parameters:
  ///   - leaf: the last entry in the answer.
  ///   - wasRewound: the session had been rewound from elsewhere, and was asked for all entries.
  ///   - isCurrent: the answer is from the process that the session talks to. Another one says nothing about it.
  package mutating func note(leaf: String?, wasRewound: Bool, isCurrent: Bool) -> TranscriptPosition {
    let leaf = leaf ?? (wasRewound ? nil : lastEntry)
    if isCurrent { lastEntry = leaf }
    return leaf.map(TranscriptPosition.after) ?? .empty
  }
}
