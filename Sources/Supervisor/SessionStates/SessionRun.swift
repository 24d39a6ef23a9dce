package import PiRPC
package import RelayModel

/// The run that a prompt started, as far as it is known. A pure value: the session feeds it the events of pi.
package struct SessionRun: Codable {
  package enum Verdict: Equatable {
    case goesOn
    /// pi has the message.
    case takesMessage
    /// Over, unless pi starts something by itself within a moment: older releases do not say.
    case overUnlessContinued
    case over(RunEnd)
  }

  package var prompt: Prompt
  /// It may have been written to pi's input.
  package var isGiven = false
  /// pi took the message: its own copy of it was seen.
  package var isAccepted: Bool { prompt.life.state == .running }
  package private(set) var started = false
  /// pi's own copy of the message was seen, also where the run is over. A snapshot of an earlier version has no value.
  private var wasSeen: Bool?
  package var hasTakenMessage: Bool { wasSeen ?? isAccepted }
  /// Nothing of the run was seen yet.
  private var isUnseen: Bool { !started && !isAccepted }
  /// pi has answered the prompt; a run may or may not follow.
  package var isAnswered = false
  /// pi has ended a turn of the run and said nothing further: it may be idle.
  private var hasEnded = false
  /// Steering messages written to pi and not yet seen in the session, in order.
  package private(set) var steering: [Steered] = []
  /// Messages of the user that pi has added to the run and that are none of `steering` as it was written: an extension
  /// of pi may change what it is given, and may add messages of its own.
  package private(set) var unknownUserMessages = 0
  /// The run is being stopped.
  package var aborting: Bool { prompt.life.evidence.interruption == .aborting }
  private var lastStop = Stop()
  /// The error with which the agent's own command failed that the message called.
  private var commandError: String?

  package struct Steered: Codable {
    package var prompt: Prompt
    /// The text as it was written to pi.
    package let text: String
  }

  private struct Stop: Codable {
    var reason: String?
    var error: String?
  }

  /// The first message from elsewhere that was written into the run.
  private var remoteSteering: Prompt?

  /// The people whose words the agent works on. A message from a chat makes the run of a terminal a remote one.
  package var origin: TurnOrigin {
    let prompt = prompt.key.conversation.isLocalTerminal ? remoteSteering : self.prompt
    guard let prompt else { return .local }
    guard let requester = prompt.requester, let author = prompt.author else { return .nobody }
    return .remote(requester, name: author.name)
  }

  /// Pi would take a steering message into this run.
  package var takesSteering: Bool { started && !hasEnded && !aborting }

  /// When this process began to follow the run, on its own clock.
  private var began: Duration
  /// How long earlier processes had followed the run.
  private var spent: Duration = .zero

  package init(prompt: Prompt, began: Duration = .zero) {
    self.prompt = prompt
    self.began = began
  }

  /// How much of a limit on the run's time is left.
  package func timeLeft(of limit: Duration, now: Duration) -> Duration { max(.zero, limit - spent - (now - began)) }

  /// The run as the next process goes on with it.
  package func handedOver(now: Duration) -> SessionRun {
    var run = self
    run.spent += now - began
    return run
  }

  /// Begins to follow a run that an earlier process has handed over.
  package mutating func adopt(now: Duration) { began = now }

  /// Takes an event; says whether the run is over.
  ///
  /// - Parameter settles: whether this pi says `agent_settled`; nil while unknown.
  package mutating func take(_ event: PiEvent, settles: Bool?) -> Verdict {
    if case .agentEnd = event { hasEnded = true }
    if Self.continues(event) { hasEnded = false }
    switch event {
    case .agentStart:
      started = true
      return .goesOn
    case .messageStart(let role, let text):
      if role == "user" {
        if isAccepted { noteUserMessage(text) }
        // Before the message is written, the agent works on something of its own.
        if prompt.life.state == .dispatched {
          wasSeen = true
          return .takesMessage
        }
      }
      return .goesOn
    case .messageEnd(let message):
      if message.role == "assistant" { lastStop = Stop(reason: message.stopReason, error: message.errorMessage) }
      return .goesOn
    // A run that a person began in the agent's own terminal may end before ours has begun.
    case .agentEnd where isUnseen, .agentSettled where isUnseen: return .goesOn
    case .agentEnd(let willRetry):
      if willRetry == true { return .goesOn }
      return willRetry == nil && settles != true ? .overUnlessContinued : .goesOn
    case .agentSettled: return .over(end)
    case .extensionError(let path, let message):
      if calls(path) { commandError = message }
      return .goesOn
    case .compactionEnd(_, let willRetry, _, _):
      return started && settles != true && !willRetry ? .overUnlessContinued : .goesOn
    case .retryEnd(let succeeded, _): return succeeded || settles == true ? .goesOn : .overUnlessContinued
    default: return .goesOn
    }
  }

  // MARK: - Steering

  package mutating func steer(_ prompt: Prompt, text: String) {
    steering.append(Steered(prompt: prompt, text: text))
    if remoteSteering == nil, !prompt.key.conversation.isLocalTerminal { remoteSteering = prompt }
  }

  package func steered(_ key: MessageKey) -> Prompt? { steering.first { $0.prompt.key == key }?.prompt }

  /// Takes a steering message back, should the run turn out not to take it; false where there is none.
  package mutating func withdrawSteering(_ key: MessageKey) -> Bool {
    guard let index = steering.firstIndex(where: { $0.prompt.key == key }) else { return false }
    steering[index].prompt.life.take(.withdrawn)
    return true
  }

  /// Takes a steering message out that pi has refused.
  package mutating func removeSteering(_ key: MessageKey) -> Prompt? {
    steering.firstIndex { $0.prompt.key == key }.map { steering.remove(at: $0).prompt }
  }

  /// A steering message that the run was not seen to take.
  package struct Leftover {
    package var prompt: Prompt
    /// The run took a message that may be this one, changed by an extension.
    package var mayBeTaken: Bool
  }

  /// The fate of steering messages after a run that was not seen to take them.
  package struct Requeued {
    /// Messages that wait for a turn of their own, and the stage to store for each.
    package var waiting: [(prompt: Prompt, change: StageChange?)] = []
    /// The ends of messages that were taken back meanwhile.
    package var notTaken: [MessageEnd] = []

    package init(_ leftovers: [Leftover]) {
      for var left in leftovers {
        let reaction = left.prompt.life.take(.runEndedWithout(mayHaveTaken: left.mayBeTaken))
        if let end = MessageEnd(left.prompt.key, left.prompt.life) {
          notTaken.append(end)
        } else {
          waiting.append((left.prompt, reaction?.persist))
        }
      }
    }
  }

  /// Takes all steering messages out that pi was not seen to take. Where pi has added messages that are none of ours as
  /// they were written, as many of the first may be among them.
  package mutating func removeSteering() -> [Leftover] {
    defer {
      steering = []
      unknownUserMessages = 0
    }
    return steering.enumerated().map { Leftover(prompt: $1.prompt, mayBeTaken: $0 < unknownUserMessages) }
  }

  /// The message that the last unknown message of the user may have been, changed by an extension.
  package var mayBeTaken: Prompt? {
    unknownUserMessages > 0 && unknownUserMessages <= steering.count ? steering[unknownUserMessages - 1].prompt : nil
  }

  private mutating func noteUserMessage(_ text: String?) {
    guard !steering.isEmpty else { return }
    if let text, let index = steering.firstIndex(where: { $0.text == text }) {
      noteTaken(steering.remove(at: index).prompt)
    } else {
      unknownUserMessages += 1
    }
  }

  /// The run has ended by itself: pi took as many of the first messages as it has added unknown ones.
  package mutating func creditUnknownUserMessages() {
    let count = min(unknownUserMessages, steering.count)
    for one in steering.prefix(count) { noteTaken(one.prompt) }
    steering.removeFirst(count)
    unknownUserMessages = 0
  }

  private mutating func noteTaken(_ prompt: Prompt) {
    var prompt = prompt
    prompt.life.take(.seenInRun)
    taken.append(prompt)
  }

  /// Steering messages that pi has taken since last asked.
  private var taken: [Prompt] = []

  /// Takes out the ends of the steering messages that pi has taken since last asked.
  package mutating func takeTaken() -> [MessageEnd] {
    defer { taken = [] }
    return taken.compactMap { MessageEnd($0.key, $0.life) }
  }

  /// The end of a message that the agent took without a run: one of its own commands, which may have failed.
  package var endWithoutRun: RunEnd {
    commandError.map { .failed("The agent's command \(prompt.text.prefix { !$0.isWhitespace }) failed: \($0)") }
      ?? .handled
  }

  /// Tells whether the message calls the command that pi names as the source of an error: `command:NAME`.
  package func calls(_ source: String?) -> Bool {
    guard !started, let source, source.hasPrefix("command:") else { return false }
    return prompt.text.prefix { !$0.isWhitespace } == "/" + source.dropFirst("command:".count)
  }

  /// How it ended, judged by the last message of the agent.
  package var end: RunEnd {
    switch lastStop.reason {
    case "aborted": .aborted
    case "error" where !aborting:
      .failed(lastStop.error.map(ServiceError.words) ?? "the model failed without saying why")
    default: aborting ? .aborted : .completed
    }
  }

  /// An event shows that a run which seemed over goes on.
  package static func continues(_ event: PiEvent) -> Bool {
    switch event {
    case .agentStart, .retryStart, .compactionStart: true
    default: false
    }
  }
}
