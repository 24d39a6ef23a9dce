internal import PiRPC

/// What is known of the run that a prompt started. A pure value: the session feeds it what pi says.
struct SessionRun: Codable {
  enum Verdict: Equatable {
    case goesOn
    /// Over, unless pi starts something by itself within a moment: older releases do not say.
    case overUnlessContinued
    case over(RunEnd)
  }

  var prompt: Prompt?
  /// The message is on its way to pi as it is.
  var isDispatched = false
  /// It may have been written to pi's input.
  var isGiven = false
  /// pi took the message: its own copy of it was seen.
  private(set) var accepted = false
  private(set) var started = false
  /// pi has answered the prompt; a run may or may not follow.
  var isAnswered = false
  /// pi has ended a turn of the run and said nothing further: it may be idle.
  private var hasEnded = false
  /// Steering messages given to pi and not yet taken by it.
  var steering: [Prompt] = []
  var aborting = false
  private var lastStop = Stop()

  private struct Stop: Codable {
    var reason: String?
    var error: String?
  }

  /// Whether pi would take a steering message into this run.
  var takesSteering: Bool { started && !hasEnded && !aborting }

  init(prompt: Prompt?) {
    self.prompt = prompt
  }

  /// Takes an event; says whether the run is over.
  ///
  /// - Parameter settles: whether this pi says `agent_settled`; nil while unknown.
  mutating func take(_ event: PiEvent, settles: Bool?) -> Verdict {
    if case .agentEnd = event { hasEnded = true }
    if Self.continues(event) { hasEnded = false }
    switch event {
    case .agentStart:
      started = true
      return .goesOn
    case .messageStart(let role):
      if role == "user" {
        if accepted || prompt == nil {
          if !steering.isEmpty { taken.append(steering.removeFirst()) }
        } else {
          accepted = true
        }
      }
      return .goesOn
    case .messageEnd(let message):
      if message.role == "assistant" { lastStop = Stop(reason: message.stopReason, error: message.errorMessage) }
      return .goesOn
    case .agentEnd(let willRetry):
      if willRetry == true { return .goesOn }
      return willRetry == nil && settles != true ? .overUnlessContinued : .goesOn
    case .agentSettled: return .over(end)
    case .compactionEnd(_, let willRetry, _, _):
      return started && settles != true && !willRetry ? .overUnlessContinued : .goesOn
    case .retryEnd(let succeeded, _): return succeeded || settles == true ? .goesOn : .overUnlessContinued
    default: return .goesOn
    }
  }

  /// Steering messages that pi has taken since last asked.
  private(set) var taken: [Prompt] = []

  mutating func takeTaken() -> [Prompt] {
    defer { taken = [] }
    return taken
  }

  /// How it ended, judged by the last message of the agent.
  var end: RunEnd {
    switch lastStop.reason {
    case "aborted": .aborted
    case "error": .failed(lastStop.error ?? "the model failed without saying why")
    default: aborting ? .aborted : .completed
    }
  }

  /// Whether an event shows that a run which seemed over goes on.
  static func continues(_ event: PiEvent) -> Bool {
    switch event {
    case .agentStart, .retryStart, .compactionStart: true
    default: false
    }
  }
}
