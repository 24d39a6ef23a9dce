package import Logging
package import RelayConcurrency
package import RelayConfig
internal import RelayLogging
package import RelayModel
internal import RelayWire
package import SessionStates

/// Admits messages to assistants up to a maximum of waiting ones, and measures how long each took from admission to its end.
package final class AdmissionController: Sendable {
  private struct Message {
    let taken: Duration
    var started: Duration?
  }

  private struct State {
    var messages: [MessageKey: Message] = [:]
    /// From admission to the end, of each conversation's last answers.
    var latencies: [ConversationKey: [Duration]] = [:]
    var timeouts = 0

    var waiting: [Message] { messages.values.filter { $0.started == nil } }
  }

  private let settings: Config.Assistant
  private let timeSource: TimeSource
  private let logger: Logger
  private let state = Locked(State())

  package init(_ settings: Config.Assistant, _ timeSource: TimeSource, logger: Logger) {
    self.settings = settings
    self.timeSource = timeSource
    self.logger = logger
  }

  /// - Parameter isKnown: an earlier daemon admitted the message, which is not refused any more.
  /// - Returns: false where as many messages wait as may.
  package func admit(_ message: MessageKey, isKnown: Bool) -> Bool {
    let now = timeSource.now()
    return state.withLock { state in
      guard isKnown || state.waiting.count < settings.maximumQueued else { return false }
      state.messages[message] = Message(taken: now)
      return true
    }
  }

  /// The session did not take the message after all.
  package func cancel(_ message: MessageKey) { _ = state.withLock { $0.messages.removeValue(forKey: message) } }

  /// Follows the admitted messages through their sessions' events.
  package func observe(_ event: SessionEvent) {
    switch event {
    case .messageGiven(let message, _):
      let now = timeSource.now()
      state.withLock { $0.messages[message]?.started = now }
    case .timedOut(let message?, _):
      state.withLock { if $0.messages[message] != nil { $0.timeouts += 1 } }
    case .runEnded(let message, let end): ended(message.key, end)
    case .messageTaken(let message), .messageDropped(let message), .messageNotTaken(let message):
      cancel(message.key)
    default: break
    }
  }

  private func ended(_ message: MessageKey, _ end: RunEnd) {
    let now = timeSource.now()
    let ended = state.withLock { state -> Message? in
      guard let ended = state.messages.removeValue(forKey: message) else { return nil }
      var latencies = state.latencies[message.conversation] ?? []
      latencies.append(now - ended.taken)
      if latencies.count > settings.latencyWindow { latencies.removeFirst() }
      state.latencies[message.conversation] = latencies
      return ended
    }
    guard let ended else { return }
    let waited = (ended.started ?? now) - ended.taken
    let took = (now - ended.taken).forPeople
    logger.with(message.conversation)
      .info("assistant: \(end.outcome.rawValue): waited \(waited.forPeople), took \(took) in all")
  }

  /// Drops the measurements of conversations whose session is gone.
  package func forget(_ conversations: some Sequence<ConversationKey>) {
    state.withLock { for key in conversations { $0.latencies[key] = nil } }
  }

  /// The queue and the measurements as a line for the log.
  ///
  /// - Parameter sessions: the number of the assistant's sessions.
  package func health(sessions: Int) -> String {
    let now = timeSource.now()
    return state.withLock { state in
      let waiting = state.waiting
      let oldest = waiting.map { now - $0.taken }.max() ?? .zero
      var parts = [
        "queue \(waiting.count), oldest \(oldest.forPeople)",
        "\(sessions) session(s), \(state.messages.count - waiting.count) at work", "\(state.timeouts) timed out",
      ]
      for (key, latencies) in state.latencies.sorted(by: { $0.key.description < $1.key.description }) {
        parts.append("\(key): \(Percentiles(latencies))")
      }
      return "assistant: " + parts.joined(separator: "; ")
    }
  }
}
