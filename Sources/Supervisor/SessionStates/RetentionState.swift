package import AgentRuntime
package import RelayModel

/// How long a session keeps its transcript, and whether it must be cleared now.
package struct RetentionState: Sendable {
  /// `nil` keeps the transcript indefinitely, where pi keeps it.
  package let memory: TranscriptRetention?
  /// The transcript must be cleared before the next message.
  package private(set) var mustForget = false
  /// When the last message has ended, or the session was begun, in seconds since 1970.
  private var lastWork: Double

  package init(_ memory: TranscriptRetention?, now: Double) {
    self.memory = memory
    lastWork = now
  }

  package mutating func messageEnded(now: Double) {
    mustForget = memory?.span == .oneMessage
    lastWork = now
  }

  package mutating func forgotten() { mustForget = false }

  /// The session has had nothing to do for so long that it may end.
  package func isUnused(for limit: Duration, now: Double) -> Bool {
    guard let memory, memory.span != .kept else { return false }
    return now - (memory.lastUse ?? lastWork) >= limit / .seconds(1)
  }

  /// The transcript that may be out of date before a message; `nil` where it is kept, as it may prove that the agent
  /// already received this message.
  package func mayBeOver(before prompt: Prompt) -> TranscriptRetention? {
    prompt.life.evidence.mayHaveBeenTaken || prompt.life.evidence.attempts > 0 ? nil : memory
  }
}
