package import RelayModel
package import RelayWire

/// The life of one message as it is seen from outside: its stages in the daemon's store among the faults and wishes of the
/// time, the words of its messenger, and the transcript of its agent.
package struct MessageHistory: Sendable, CustomStringConvertible {
  package enum Step: Sendable, Equatable {
    /// The store has this stage from here on; the first one is that of a new message.
    case stored(StageChange.Stage)
    /// The store has the end of the message from here on.
    case ended(MessageStage, MessageSettled.Outcome)
    /// A reason for an event that does not happen by itself: from here on, and once.
    case reason(Reason)
    /// The next daemon finds the message as it is stored.
    case daemonKilled
    /// Another program takes the daemon's place, and continues with the message or finds it as it is stored.
    case upgradeBegan
    case upgradeEnded
  }

  /// The reasons of the events that do not happen by themselves.
  package enum Reason: Sendable, Hashable {
    case agentKilled, withdrawal, stop, shutdown

    /// The reason that an event needs; `nil` for one that happens by itself.
    package init?(of event: MessageLifecycle.Event) {
      switch event {
      case .agentUnavailable, .agentExited: self = .agentKilled
      case .withdrawn: self = .withdrawal
      case .aborted: self = .stop
      case .shutDown: self = .shutdown
      case .handlingBegan, .handled, .postponed, .refused, .enqueued, .queueFull, .foundAfterRestart, .steered,
        .steeringRefused, .seenInRun, .runEndedWithout, .turn, .agentReady, .lookedUp, .chose, .refusedByModel,
        .prepared, .recorded, .userMessageSeen, .refusedByAgent, .handledWithoutRun, .runEnded:
        return nil
      }
    }
  }

  package let name: String
  package var steps: [Step] = []
  /// How often the messenger was told that the message is new.
  package var acceptances = 0
  /// Each end that the messenger was told.
  package var told: [MessageSettled.Outcome] = []
  /// How often a person may have decided how the message continues; `nil`: unknown.
  package var decisions: Int?
  /// How often the transcript of the agent has the message; `nil`: unknown.
  package var entries: Int?

  package init(_ name: String, _ steps: [Step] = []) {
    self.name = name
    self.steps = steps
  }

  package var description: String { description(marking: nil) }

  /// The history as lines.
  ///
  /// - Parameter step: the index of the step that gets a mark.
  func description(marking step: Int?) -> String {
    var lines = steps.indices.map { index in
      "\(index + 1). \(Self.words(for: steps[index]))" + (index == step ? "   <- impossible" : "")
    }
    let ends = told.isEmpty ? "no end" : "the end " + told.map { "\($0)" }.joined(separator: ", then ")
    lines.append("The messenger was told \(acceptances) time(s) that it is new, and \(ends).")
    if let decisions { lines.append("A person was asked about it \(decisions) time(s).") }
    if let entries { lines.append("The agent's transcript has it \(entries) time(s).") }
    return lines.joined(separator: "\n")
  }

  private static func words(for step: Step) -> String {
    switch step {
    case .stored(.dispatching(let position)): "stored: dispatching, transcript position \(position)"
    case .stored(let stage): "stored: \(stage)"
    case .ended(let stage, let outcome): "stored: \(stage), told as \(outcome)"
    case .reason(.agentKilled): "an agent was killed"
    case .reason(.withdrawal): "a person took it back"
    case .reason(.stop): "a person stopped it"
    case .reason(.shutdown): "the daemon was stopped"
    case .daemonKilled: "the daemon was killed"
    case .upgradeBegan: "an upgrade began"
    case .upgradeEnded: "the upgrade was over"
    }
  }
}
