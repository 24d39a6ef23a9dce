/// The life of one message from a person, from its arrival to its end.
///
/// A pure value without clock, store or process: its owner feeds it events, and carries out the reaction that each event
/// returns. The store takes a message's stage from here only, and its end as a `Conclusion`.
package struct MessageLifecycle: Sendable, Hashable, Codable {
  package enum State: Sendable, Hashable, Codable {
    /// Stored; no session has it yet.
    case received
    /// A command, or the answer to a question, is being carried out.
    case handling
    /// Waits in a session's queue.
    case queued
    /// Written to a run in progress, which was not yet seen to take it.
    case steering
    /// Its turn has come; the agent is being started.
    case starting
    /// A person decides how it continues.
    case awaitingDecision(Question)
    /// The session's transcript is searched for it.
    case verifying
    /// Its text and attachments are being turned into what a model takes.
    case preparing
    /// The intent to give it to the agent is being stored.
    case recording
    /// Written to the agent, which was not yet seen to take it.
    case dispatched
    /// The agent works on it.
    case running
    /// Stays as it is stored; the next daemon continues.
    case left
    case ended(Conclusion)
  }

  package enum Question: Sendable, Hashable, Codable, CaseIterable {
    /// The agent does not start: try again, or drop the message?
    case agentUnavailable
    /// Nothing proves whether the agent took the message: run it again, or drop it?
    case possiblyTaken
  }

  package enum Choice: Sendable, Hashable, Codable, CaseIterable { case tryAgain, runAgain, drop }

  /// Facts about the message that outlive a state.
  package struct Evidence: Sendable, Hashable, Codable {
    /// How often the agent exited before it was seen to take the message.
    package var attempts = 0
    /// How often the agent did not start, in this turn.
    package var failedStarts = 0
    /// The end of the transcript before the message was written to the agent.
    package var position = TranscriptPosition.unknown
    /// An agent that has exited may have taken the message.
    package var mayHaveBeenTaken = false
    /// The person took the message back.
    package var isWithdrawn = false
    /// Accepted before, by an earlier daemon or on the owner's behalf: a full queue does not refuse it.
    package var isAdmitted = false
    /// The reason why its turn must end early.
    package var interruption: Interruption?

    package init() {}
  }

  package enum Interruption: Sendable, Hashable, Codable {
    /// The person stopped it, or its session was closed.
    case aborting
    /// The daemon stops.
    case shuttingDown
  }

  package private(set) var state: State
  package private(set) var evidence: Evidence

  /// A message that has just been stored.
  ///
  /// - Parameter isAdmitted: a full queue does not refuse it.
  package init(isAdmitted: Bool = false) {
    state = .received
    evidence = Evidence()
    evidence.isAdmitted = isAdmitted
  }

  /// A message that an earlier daemon left unfinished; `foundAfterRestart` must be its next event.
  ///
  /// - Parameter position: the end of the transcript as it is stored, where the session is still the same.
  package init(restoring stage: MessageStage, position: TranscriptPosition = .unknown, isWithdrawn: Bool) {
    self.init(isAdmitted: true)
    evidence.isWithdrawn = isWithdrawn
    switch stage {
    case .received: break
    case .handling: state = .handling
    case .dispatching:
      evidence.mayHaveBeenTaken = true
      evidence.position = position
    case .accepted: state = .running
    case .settled, .interrupted, .dropped: state = .left
    }
  }

  /// For tests: any state with any evidence.
  init(_ state: State, _ evidence: Evidence = Evidence()) {
    self.state = state
    self.evidence = evidence
  }

  /// The stage to store for a message of an earlier daemon, once the transcript was searched for it.
  package static func change(of lookup: TranscriptLookup) -> StageChange {
    switch lookup {
    case .absent: StageChange(.received)
    case .present: StageChange(.accepted)
    case .inconclusive: StageChange(.dispatching(after: .unknown))
    }
  }

  /// The end of a message that is stored in this stage, and whose messenger is gone for good.
  ///
  /// - Returns: `nil` when the message has ended.
  package static func conclusion(ofAbandoned stage: MessageStage) -> Conclusion? {
    var life = MessageLifecycle(restoring: stage, isWithdrawn: false)
    life.take(.foundAfterRestart)
    life.take(.aborted)
    return life.conclusion
  }

  /// Indicates that an edit reaches the agent.
  package var isEditable: Bool {
    switch state {
    case .queued, .starting, .awaitingDecision, .verifying, .preparing: !evidence.mayHaveBeenTaken
    default: false
    }
  }

  package var conclusion: Conclusion? { if case .ended(let conclusion) = state { conclusion } else { nil } }

  /// Takes an event.
  ///
  /// - Returns: `nil` when the event means nothing in this state, which then stays as it is.
  @discardableResult
  package mutating func take(_ event: Event) -> Reaction? {
    guard var next = transition(event) else { return nil }
    defer {
      state = next.state
      evidence = next.evidence
    }
    // A new turn begins without the interruption of the last.
    if next.state == .queued { next.evidence.interruption = nil }
    return next.reaction
  }
}

extension MessageLifecycle {
  package enum Event: Sendable, Hashable {
    // From the router.
    /// Its command or answer is about to be carried out.
    case handlingBegan
    /// Its command or answer was carried out, or there was nothing to do.
    case handled
    /// It was not carried out, and the next daemon does it.
    case postponed
    /// It was not accepted, and the person was told why.
    case refused
    case enqueued
    case queueFull
    /// The first event of a restored message.
    case foundAfterRestart

    // Into a run in progress.
    case steered
    /// The agent refused it, or the run was over before it was written.
    case steeringRefused
    /// The transcript of the run shows it.
    case seenInRun
    /// The run is over without it. `mayHaveTaken`: the run took a message that may be this one, changed by an extension.
    case runEndedWithout(mayHaveTaken: Bool)

    // Its own turn.
    case turn
    case agentReady
    case agentUnavailable
    case lookedUp(TranscriptLookup)
    /// `nil`: nobody answered, or the question was withdrawn.
    case chose(Choice?)
    /// The model does not accept it.
    case refusedByModel
    case prepared(TranscriptPosition)
    case recorded
    case userMessageSeen
    case refusedByAgent
    /// The agent carried it out without a run: a command of its own.
    case handledWithoutRun
    case runEnded
    /// `wasGiven`: it may have been written to the agent's input.
    case agentExited(wasGiven: Bool)

    // At any time.
    case withdrawn
    /// The person stopped the run, or the session or its messenger is gone.
    case aborted
    case shutDown
  }

  /// An end of a message that no session has.
  package enum ReceivedEnd: Sendable, Hashable, CaseIterable {
    /// Its command or answer was carried out, or there was nothing to do.
    case handled
    /// It was not accepted, and the person was told why.
    case refused

    var event: Event {
      switch self {
      case .handled: .handled
      case .refused: .refused
      }
    }

    var conclusion: Conclusion {
      switch self {
      case .handled: .handled
      case .refused: .refused
      }
    }
  }

  /// The owner's part after an event.
  package struct Reaction: Sendable, Hashable {
    /// Stored before anything else.
    package var persist: StageChange?
    package var next = Next.wait
    /// For the person who took the message back: it was in time, or too late.
    package var isTooLate = false
  }

  package enum Next: Sendable, Hashable {
    case wait
    case startAgent
    case lookUp
    case ask(Question)
    case prepare
    /// Store `dispatching`, until that succeeds.
    case record(StageChange)
    /// Write the message to the agent.
    case give
    /// Put it at the front of the queue.
    case queueInFront
    /// End the step under way: withdraw the question, give up the wait for a slot, abort the run.
    case interrupt
    case end(Conclusion)
    /// Do nothing further: the next daemon continues.
    case leave
  }
}

/// A change of the stage that is stored for a message. Only `MessageLifecycle` makes one.
package struct StageChange: Sendable, Hashable {
  package enum Stage: Sendable, Hashable {
    case received
    case handling
    case dispatching(after: TranscriptPosition)
    case accepted
  }

  package let stage: Stage

  init(_ stage: Stage) { self.stage = stage }
}
