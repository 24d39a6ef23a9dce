package import RelayWire

/// The end of a run.
package enum RunEnd: Sendable, Equatable {
  case completed
  case aborted
  /// The person took the message back, and the agent did not take it.
  case withdrawn
  /// Text for the person: what went wrong and what to do.
  case failed(String)
  /// The same, where the agent has no memory of the message, so that it may be run again.
  case forgotten(String)
  /// The agent took the message without a run: one of its own commands.
  case handled

  /// For a message that was said to be with the agent.
  package static let notTaken = "🗑️ The agent did not take that message after all: it is withdrawn, and does not run."

  /// Text for the person; nil where nothing went wrong.
  package var problem: String? {
    switch self {
    case .failed(let why), .forgotten(let why): why
    case .completed, .aborted, .withdrawn, .handled: nil
    }
  }

  package var outcome: MessageSettled.Outcome {
    switch self {
    case .completed: .answered
    case .aborted, .withdrawn: .stopped
    case .failed, .forgotten: .failed
    case .handled: .handled
    }
  }
}
