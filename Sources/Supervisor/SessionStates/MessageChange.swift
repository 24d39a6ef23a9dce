/// The outcome of a change of a message that may wait in a session.
package enum MessageChange: Sendable, Equatable {
  case done
  /// It says that already.
  case unchanged
  /// The agent has the message, or may have it.
  case tooLate
  /// It is no message that waits or runs here.
  case unknown
}

/// The work of a session that a stop interrupted.
package enum StoppedWork: Sendable, Hashable { case nothing, run, compaction }
