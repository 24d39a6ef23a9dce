package import RelayWire

/// The end of a message, as `MessageLifecycle` decides it.
package enum Conclusion: Sendable, Hashable, Codable {
  /// The supervisor carried it out: a command, or the answer to a question.
  case handled
  /// The agent carried it out without a run.
  case handledByAgent
  /// It went into the run of another message.
  case takenIntoRun
  /// Its run is over.
  case ran
  /// It was not accepted: by a full queue, by the model or by the agent.
  case refused
  /// The agent does not start, and nobody chose to wait.
  case unavailable(mayHaveBeenTaken: Bool)
  /// The agent exited twice before it was seen to take it.
  case setAside(mayHaveBeenTaken: Bool)
  /// The person stopped it, its session was closed, or its messenger is gone for good.
  case aborted(mayHaveBeenTaken: Bool)
  /// The person took it back in time.
  case withdrawn
  /// The person took it back too late, as it seemed, and the agent did not take it after all.
  case notTaken
  /// The person took it back, and nothing proves whether the agent took it before.
  case withdrawalUncertain
  /// The agent, or the daemon, was gone in the middle of its work.
  case interrupted

  package var stage: MessageStage {
    switch self {
    case .handled, .handledByAgent, .takenIntoRun, .ran: .settled
    case .refused, .withdrawn, .notTaken: .dropped
    case .unavailable(let mayHaveBeenTaken), .setAside(let mayHaveBeenTaken), .aborted(let mayHaveBeenTaken):
      mayHaveBeenTaken ? .interrupted : .dropped
    case .withdrawalUncertain, .interrupted: .interrupted
    }
  }

  /// The outcome that the messenger is told; that of a run which is over depends on the run.
  package var outcome: MessageSettled.Outcome {
    switch self {
    case .handled, .handledByAgent, .takenIntoRun: .handled
    case .ran: .answered
    case .refused, .unavailable, .setAside, .withdrawalUncertain, .interrupted: .failed
    case .aborted, .withdrawn, .notTaken: .stopped
    }
  }
}
