internal import AgentSessions
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayWire

/// Messages to assistants, from the moment they are taken to their end: how many may wait, and how long they took.
final class AssistantQueue: Sendable {
  private struct Message {
    let taken: Duration
    var started: Duration?
  }

  private struct State {
    var messages: [MessageKey: Message] = [:]
    /// From taking to the end, of each conversation's last answers.
    var latencies: [ConversationKey: [Duration]] = [:]
    var timeouts = 0

    var waiting: [Message] { messages.values.filter { $0.started == nil } }
  }

  private let settings: Config.Assistant
  private let timekeeper: Timekeeper
  private let log: @Sendable (String) -> Void
  private let state = Locked(State())

  init(_ settings: Config.Assistant, _ timekeeper: Timekeeper, log: @escaping @Sendable (String) -> Void) {
    self.settings = settings
    self.timekeeper = timekeeper
    self.log = log
  }

  /// Takes a message in, unless as many as may wait already.
  ///
  /// - Parameter isKnown: an earlier daemon has taken it, and it is not refused.
  func admits(_ message: MessageKey, isKnown: Bool) -> Bool {
    let now = timekeeper.now()
    return state.withLock { state in
      guard isKnown || state.waiting.count < settings.maximumQueued else { return false }
      state.messages[message] = Message(taken: now)
      return true
    }
  }

  /// It was not taken after all.
  func leave(_ message: MessageKey) { _ = state.withLock { $0.messages.removeValue(forKey: message) } }

  /// Follows what happens to the messages that were taken in.
  func note(_ event: SessionEvent) {
    switch event {
    case .messageGiven(let message):
      let now = timekeeper.now()
      state.withLock { $0.messages[message]?.started = now }
    case .timedOut(let message?, _):
      state.withLock { if $0.messages[message] != nil { $0.timeouts += 1 } }
    case .runEnded(let message?, let end, _): ended(message, end)
    case .messageTaken(let message), .messageWithdrawn(let message), .messageNotTaken(let message): leave(message)
    default: break
    }
  }

  private func ended(_ message: MessageKey, _ end: RunEnd) {
    let now = timekeeper.now()
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
    log(
      "assistant: \(message.conversation) \(end.outcome.rawValue): waited \(waited.forPeople), "
        + "took \((now - ended.taken).forPeople) in all")
  }

  /// Conversations that no session is kept for any more.
  func forget(_ conversations: some Sequence<ConversationKey>) {
    state.withLock { for key in conversations { $0.latencies[key] = nil } }
  }

  /// How it is doing, for the log.
  ///
  /// - Parameter sessions: how many there are.
  func health(sessions: Int) -> String {
    let now = timekeeper.now()
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

/// What share of answers took at most how long.
struct Percentiles: CustomStringConvertible {
  private let sorted: [Duration]

  init(_ durations: [Duration]) { sorted = durations.sorted() }

  /// - Parameter share: of a hundred.
  func at(_ share: Int) -> Duration {
    sorted.isEmpty ? .zero : sorted[(sorted.count - 1) * share / 100]
  }

  var description: String {
    let shares = [50, 95, 99].map { "p\($0) \(at($0).forPeople)" }
    return "\(sorted.count) answer(s), \(shares.joined(separator: ", "))"
  }
}
