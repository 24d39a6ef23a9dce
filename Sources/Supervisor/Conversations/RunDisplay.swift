internal import RelayModel

/// The state of the display of one run, apart from its answer. A pure value.
struct RunDisplay: Codable, Equatable {
  /// The announcement of a message that was written elsewhere and has not been given to the agent yet.
  private var echo: String?
  /// Some of the run's answer could not be shown.
  private(set) var isIncomplete = false

  /// - Parameter key: the conversation that is shown the run.
  mutating func beginRun(_ origin: MessageKey?, text: String, in key: ConversationKey) {
    // A message of this conversation is known by its id already.
    echo = origin.flatMap { origin in
      if origin.origin.isHeartbeat { return "💓 From the assistant's own periodic check:" }
      return origin.conversation == key ? nil : "▶ USER: \(text)"
    }
  }

  mutating func takeEcho() -> String? { echo.take() }

  mutating func becomeIncomplete() { isIncomplete = true }

  /// - Returns: true for a message that was withdrawn elsewhere before it ran, and so was never seen here.
  mutating func dropsEcho(of end: RunEnd) -> Bool {
    guard echo != nil, end == .aborted || end == .withdrawn else { return false }
    echo = nil
    return true
  }

  /// - Returns: true where some of the answer could not be shown.
  mutating func endRun() -> Bool {
    defer { isIncomplete = false }
    return isIncomplete
  }
}
