internal import AgentRuntime
internal import RelayModel
internal import SessionStates

/// The facts that the steps of one message's turn hand on to one another.
struct Turn {
  let prompt: Prompt
  var connection: PiConnection?
  var prepared = PreparedPrompt(text: "", images: [])
  /// The end of the run, as the agent or the session saw it.
  var end: RunEnd?
  /// The reason of the last failure, for the person.
  var why = ""

  init(_ prompt: Prompt) { self.prompt = prompt }

  /// The end that people are shown; `nil` for an interruption, whose end depends on what the agent has saved.
  ///
  /// - Parameter words: the message as it is repeated to people.
  func end(for conclusion: Conclusion, words: @autoclosure () -> String) -> RunEnd? {
    switch conclusion {
    case .handled, .handledByAgent, .takenIntoRun: .handled
    case .ran, .refused: end ?? .failed("the agent refused the message without saying why")
    case .unavailable: .failed(why)
    case .setAside:
      .failed(
        "The agent ended twice (\(why)) before it was seen to take this message, so the message was set aside: \(words())"
      )
    case .aborted, .withdrawn: .aborted
    case .notTaken: .withdrawn
    case .withdrawalUncertain:
      .failed("Nothing tells whether the agent took this message before you withdrew it. It is not run again.")
    case .interrupted: nil
    }
  }

  /// The reason of an interruption, for the person.
  func interruption(of life: MessageLifecycle) -> String {
    if life.evidence.interruption == .shuttingDown { return "pi-relayd was stopped while the agent worked on this." }
    return life.evidence.mayHaveBeenTaken ? why : "The agent ended unexpectedly (\(why))."
  }
}
