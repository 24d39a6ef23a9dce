// The table of a message's life. Each function covers one part of it.
extension MessageLifecycle {
  struct Transition {
    var state: State
    var evidence: Evidence
    var reaction = Reaction()
  }

  func transition(_ event: Event) -> Transition? {
    switch state {
    case .received, .handling: routing(event)
    case .queued: queued(event)
    case .steering: steering(event)
    case .starting, .awaitingDecision, .verifying, .preparing, .recording: beforeTheAgent(event)
    case .dispatched, .running: withTheAgent(event)
    case .left, .ended: nil
    }
  }

  // MARK: - Routing

  private func routing(_ event: Event) -> Transition? {
    switch (state, event) {
    case (.received, .handlingBegan) where !evidence.mayHaveBeenTaken: to(.handling, persist: .handling)
    case (_, .handled): ending(.handled)
    case (.handling, .postponed): to(.received, persist: .received)
    case (.handling, .foundAfterRestart): ending(.interrupted)
    case (.received, .foundAfterRestart):
      evidence.isWithdrawn && !evidence.mayHaveBeenTaken ? ending(.withdrawn) : to(.received)
    case (.received, .refused): ending(.refused)
    case (.received, .withdrawn): evidence.mayHaveBeenTaken ? tooLate() : ending(.withdrawn)
    case (.received, .aborted): aborted()
    case (.received, .enqueued): to(.queued)
    case (.received, .queueFull):
      evidence.isAdmitted || evidence.mayHaveBeenTaken ? to(.queued) : ending(.refused)
    case (.received, .steered) where !evidence.mayHaveBeenTaken:
      to(.steering, persist: .dispatching(after: .unknown))
    default: nil
    }
  }

  private func steering(_ event: Event) -> Transition? {
    switch event {
    case .seenInRun: ending(.takenIntoRun)
    case .steeringRefused: evidence.isWithdrawn ? ending(.notTaken) : to(.received, persist: .received)
    case .runEndedWithout(mayHaveTaken: true): changed { $0.mayHaveBeenTaken = true }.to(.queued, .queueInFront)
    case .runEndedWithout(mayHaveTaken: false):
      evidence.isWithdrawn ? ending(.notTaken) : to(.queued, .queueInFront, persist: .received)
    case .withdrawn: tooLate()
    case .aborted: ending(.aborted(mayHaveBeenTaken: true))
    case .shutDown: leaving()
    default: nil
    }
  }

  private func queued(_ event: Event) -> Transition? {
    switch event {
    case .turn: changed { $0.failedStarts = 0 }.to(.starting, .startAgent)
    case .withdrawn: evidence.mayHaveBeenTaken ? tooLate() : ending(.withdrawn)
    case .aborted: aborted()
    case .shutDown: leaving()
    default: nil
    }
  }

  // MARK: - Its own turn

  private func beforeTheAgent(_ event: Event) -> Transition? {
    switch (state, event) {
    case (.recording, .withdrawn): return tooLate()
    case (_, .withdrawn):
      return evidence.mayHaveBeenTaken
        ? tooLate()
        : changed {
          $0.isWithdrawn = true
          $0.interruption = $0.interruption ?? .aborting
        }.to(state, .interrupt)
    case (_, .aborted): return changed { $0.interruption = $0.interruption ?? .aborting }.to(state, .interrupt)
    case (_, .shutDown): return changed { $0.interruption = $0.interruption ?? .shuttingDown }.to(state, .interrupt)
    default: break
    }
    // Proof of what became of it counts whatever else has happened.
    if case (.verifying, .lookedUp(.present)) = (state, event) { return ending(.interrupted) }
    if case (.verifying, .lookedUp(.absent)) = (state, event), evidence.interruption == .aborting {
      return changed { $0.mayHaveBeenTaken = false }.aborted()
    }
    guard let step = step(event) else { return nil }
    return interrupted() ?? step
  }

  private func step(_ event: Event) -> Transition? {
    switch (state, event) {
    case (.starting, .agentReady): evidence.mayHaveBeenTaken ? to(.verifying, .lookUp) : to(.preparing, .prepare)
    case (.starting, .agentUnavailable):
      // An agent that was killed as it began is started again before anybody is asked.
      evidence.failedStarts == 0
        ? changed { $0.failedStarts = 1 }.to(.starting, .startAgent)
        : to(.awaitingDecision(.agentUnavailable), .ask(.agentUnavailable))
    case (.awaitingDecision(.agentUnavailable), .chose(.tryAgain)): to(.starting, .startAgent)
    case (.awaitingDecision(.agentUnavailable), .chose(nil)):
      ending(.unavailable(mayHaveBeenTaken: evidence.mayHaveBeenTaken))
    case (.awaitingDecision(.agentUnavailable), .chose): aborted()
    case (.verifying, .lookedUp(.absent)): evidence.isWithdrawn ? ending(.notTaken) : preparing()
    case (.verifying, .lookedUp(.inconclusive)):
      evidence.isWithdrawn
        ? ending(.withdrawalUncertain)
        : to(
          // Should this daemon end before the person has answered, the next one asks, too.
          .awaitingDecision(.possiblyTaken), .ask(.possiblyTaken), persist: .dispatching(after: .unknown))
    case (.awaitingDecision(.possiblyTaken), .chose(.runAgain)): preparing()
    case (.awaitingDecision(.possiblyTaken), .chose): aborted()
    case (.preparing, .refusedByModel): ending(.refused)
    case (.preparing, .prepared(let position)):
      changed { $0.position = position }
        .to(.recording, .record(StageChange(.dispatching(after: position))))
    case (.recording, .recorded): to(.dispatched, .give)
    case (.verifying, .agentExited), (.preparing, .agentExited): retry(wasGiven: false)
    default: nil
    }
  }

  /// It is certain, or the person's word, that the agent does not have it.
  private func preparing() -> Transition {
    changed {
      $0.mayHaveBeenTaken = false
      $0.position = .unknown
    }.to(.preparing, .prepare)
  }

  private func withTheAgent(_ event: Event) -> Transition? {
    switch (state, event) {
    case (_, .withdrawn): tooLate()
    case (_, .aborted): changed { $0.interruption = $0.interruption ?? .aborting }.to(state, .interrupt)
    case (_, .shutDown): changed { $0.interruption = $0.interruption ?? .shuttingDown }.to(state, .interrupt)
    case (.dispatched, .userMessageSeen): to(.running, persist: .accepted)
    case (.dispatched, .refusedByAgent), (.dispatched, .runEnded): ending(.refused)
    case (_, .handledWithoutRun): ending(.handledByAgent)
    case (.running, .runEnded), (.running, .refusedByAgent): ending(.ran)
    case (.dispatched, .agentExited(let wasGiven)):
      if evidence.interruption == .shuttingDown { leaving() } else { retry(wasGiven: wasGiven) }
    case (.running, .agentExited):
      evidence.interruption == .aborting ? ending(.aborted(mayHaveBeenTaken: true)) : ending(.interrupted)
    case (.running, .foundAfterRestart): ending(.interrupted)
    default: nil
    }
  }

  /// The agent exited and was not seen to take the message: it is given again, once, unless the transcript has it.
  private func retry(wasGiven: Bool) -> Transition {
    let next = changed {
      $0.attempts += 1
      if wasGiven { $0.mayHaveBeenTaken = true }
    }
    if next.evidence.interruption == .aborting { return next.aborted() }
    if next.evidence.isWithdrawn, !next.evidence.mayHaveBeenTaken { return next.ending(.notTaken) }
    if next.evidence.attempts >= 2 {
      return next.ending(.setAside(mayHaveBeenTaken: next.evidence.mayHaveBeenTaken))
    }
    return next.to(.queued, .queueInFront, persist: next.evidence.mayHaveBeenTaken ? nil : .received)
  }

  // MARK: - Ends

  /// The end of a turn that was interrupted before the agent had the message; `nil` where it was not.
  private func interrupted() -> Transition? {
    switch evidence.interruption {
    case .shuttingDown: leaving()
    case .aborting: aborted()
    case nil: nil
    }
  }

  private func aborted() -> Transition {
    evidence.isWithdrawn && !evidence.mayHaveBeenTaken
      ? ending(.withdrawn) : ending(.aborted(mayHaveBeenTaken: evidence.mayHaveBeenTaken))
  }

  private func ending(_ conclusion: Conclusion) -> Transition { to(.ended(conclusion), .end(conclusion)) }

  private func leaving() -> Transition { to(.left, .leave) }

  private func tooLate() -> Transition {
    var transition = changed { $0.isWithdrawn = true }.to(state)
    transition.reaction.isTooLate = true
    return transition
  }

  // MARK: - Making transitions

  private func changed(_ change: (inout Evidence) -> Void) -> MessageLifecycle {
    var evidence = evidence
    change(&evidence)
    return MessageLifecycle(state, evidence)
  }

  private func to(_ state: State, _ next: Next = .wait, persist: StageChange.Stage? = nil) -> Transition {
    Transition(
      state: state, evidence: evidence, reaction: Reaction(persist: persist.map(StageChange.init), next: next))
  }
}
