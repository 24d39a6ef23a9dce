package import RelayModel
internal import RelayWire

/// Judges the history of a message by `MessageLifecycle`: a pure value that follows every life which looks the same from
/// outside. Where none is left, the daemon did something that the machine does not.
package struct LifecycleOracle {
  private let history: MessageHistory
  private let events: [MessageLifecycle.Event]
  private var lives: Set<Life> = []
  /// Reasons that were there before the message.
  private var earlier = Life(MessageLifecycle())

  /// - Returns: an account for a person; `nil` when a sequence of events explains the history.
  package static func problem(in history: MessageHistory) -> String? {
    var oracle = LifecycleOracle(history)
    for (index, step) in history.steps.enumerated() {
      let states = oracle.states
      guard !oracle.take(step) else { continue }
      return account(
        history, "its step \(index + 1) follows from no event: before it the message was \(states)", marking: index)
    }
    return oracle.problemAtEnd.map { account(history, $0) }
  }

  private static func account(_ history: MessageHistory, _ why: String, marking step: Int? = nil) -> String {
    "\(history.name) is not explained by the life of a message: \(why)\n"
      + history.description(marking: step).split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
  }

  private init(_ history: MessageHistory) {
    self.history = history
    let positions = history.steps.compactMap { step in
      if case .stored(.dispatching(let position)) = step { position } else { nil }
    }
    events = Self.events(positions)
  }

  /// The states in which the message may be, for a person.
  private var states: String {
    lives.isEmpty ? "not there" : Set(lives.map(\.name)).sorted().joined(separator: " or ")
  }

  // MARK: - Steps

  /// - Returns: false when no life explains the step.
  private mutating func take(_ step: MessageHistory.Step) -> Bool {
    if lives.isEmpty {
      if step == .stored(.received) {
        lives = unseenFuture(of: Set([false, true].map { earlier.begun(isAdmitted: $0) }))
        return true
      }
      earlier.note(step)
      if case .reason = step { return true }
      return [.daemonKilled, .upgradeBegan, .upgradeEnded].contains(step)
    }
    switch step {
    case .stored, .ended: lives = Set(lives.flatMap { seen(step, in: $0) })
    case .daemonKilled: lives = Set(lives.flatMap(\.restored))
    case .reason, .upgradeBegan, .upgradeEnded:
      lives = Set(
        lives.map { life in
          var life = life
          life.note(step)
          return life
        })
    }
    lives = unseenFuture(of: lives)
    return !lives.isEmpty
  }

  /// All lives that follow without a trace in the store.
  private func unseenFuture(of lives: Set<Life>) -> Set<Life> {
    var all = lives
    var open = Array(lives)
    while let life = open.popLast() {
      var next = events.flatMap { event in life.after(event, decisions: history.decisions) }.filter { $0.trace == nil }
      if life.mayRestart { next += life.restored.map { Outcome(life: $0) } }
      for one in next where all.insert(one.life).inserted { open.append(one.life) }
    }
    return all
  }

  /// The lives that follow with this trace.
  private func seen(_ step: MessageHistory.Step, in life: Life) -> [Life] {
    let outcomes = events.flatMap { life.after($0, decisions: history.decisions) } + life.lookedUpForAll
    return outcomes.filter { $0.trace?.matches(step) == true }.map(\.life)
  }

  // MARK: - The end

  private var problemAtEnd: String? {
    if history.acceptances > 1 { return "its messenger was told \(history.acceptances) times that it is new" }
    if history.acceptances > 0, lives.isEmpty { return "its messenger was told that it is stored, and it is not" }
    if Set(history.told).count > 1 { return "its messenger was told different ends" }
    if let told = history.told.first {
      let stored = history.steps.compactMap { if case .ended(_, let outcome) = $0 { outcome } else { nil } }
      guard stored.last == told else { return "its messenger was told an end that is not the stored one" }
    }
    if let entries = history.entries, !lives.isEmpty, !lives.contains(where: { $0.entries == entries }) {
      let explained = Set(lives.map(\.entries)).sorted().map(String.init).joined(separator: " or ")
      return "its agent's transcript has it \(entries) times, and \(explained) would follow from its stages"
    }
    return nil
  }

  // MARK: - Events

  /// Every event of the machine. `MessageHistory.Reason` names each once more, so that the compiler asks for a new one.
  package static func events(_ positions: [TranscriptPosition]) -> [MessageLifecycle.Event] {
    let choices: [MessageLifecycle.Choice?] = [nil] + MessageLifecycle.Choice.allCases
    return [
      .handlingBegan, .handled, .postponed, .refused, .enqueued, .queueFull, .foundAfterRestart, .steered,
      .steeringRefused, .seenInRun, .runEndedWithout(mayHaveTaken: false), .runEndedWithout(mayHaveTaken: true),
      .turn, .agentReady, .agentUnavailable, .refusedByModel, .recorded, .userMessageSeen, .refusedByAgent,
      .handledWithoutRun, .runEnded, .agentExited(wasGiven: false), .agentExited(wasGiven: true), .withdrawn,
      .aborted, .shutDown,
    ] + TranscriptLookup.allCases.map { .lookedUp($0) } + choices.map { .chose($0) } + positions.map { .prepared($0) }
  }
}
