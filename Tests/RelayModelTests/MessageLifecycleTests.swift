import Testing

@testable import RelayModel

/// Every state, every event and every evidence that makes a difference.
enum LifecycleSpace {
  static let states: [MessageLifecycle.State] = [
    .received, .handling, .queued, .steering, .starting, .awaitingDecision(.agentUnavailable), .verifying,
    .awaitingDecision(.possiblyTaken), .preparing, .recording, .dispatched, .running, .left, .ended(.ran),
  ]

  static let events: [MessageLifecycle.Event] = [
    .handlingBegan, .handled, .postponed, .refused, .enqueued, .queueFull, .foundAfterRestart, .steered,
    .steeringRefused, .seenInRun, .runEndedWithout(mayHaveTaken: false), .runEndedWithout(mayHaveTaken: true), .turn,
    .agentReady, .agentUnavailable, .lookedUp(.present), .lookedUp(.absent), .lookedUp(.inconclusive),
    .chose(.tryAgain), .chose(.runAgain), .chose(.drop), .chose(nil), .refusedByModel, .prepared(.unknown),
    .prepared(.after("e")), .recorded, .userMessageSeen, .refusedByAgent, .handledWithoutRun, .runEnded,
    .agentExited(wasGiven: false), .agentExited(wasGiven: true), .withdrawn, .aborted, .shutDown,
  ]

  static let evidence: [MessageLifecycle.Evidence] = {
    var all: [MessageLifecycle.Evidence] = []
    for attempts in 0...1 {
      for failedStarts in 0...1 {
        for mayHaveBeenTaken in [false, true] {
          for isWithdrawn in [false, true] {
            for isAdmitted in [false, true] {
              for interruption in [nil, MessageLifecycle.Interruption.aborting, .shuttingDown] {
                var one = MessageLifecycle.Evidence()
                one.attempts = attempts
                one.failedStarts = failedStarts
                one.mayHaveBeenTaken = mayHaveBeenTaken
                one.isWithdrawn = isWithdrawn
                one.isAdmitted = isAdmitted
                one.interruption = interruption
                all.append(one)
              }
            }
          }
        }
      }
    }
    return all
  }()
}

@Suite struct MessageLifecycleTests {
  private func life(_ state: MessageLifecycle.State, _ change: (inout MessageLifecycle.Evidence) -> Void = { _ in })
    -> MessageLifecycle
  {
    var evidence = MessageLifecycle.Evidence()
    change(&evidence)
    return MessageLifecycle(state, evidence)
  }

  @Test(arguments: LifecycleSpace.states)
  func `every event leaves a state as the rules allow`(state: MessageLifecycle.State) {
    // A message that an agent may have is neither carried out as a command nor written to a run in progress.
    let possible = LifecycleSpace.evidence.filter { ![.handling, .steering].contains(state) || !$0.mayHaveBeenTaken }
    for evidence in possible {
      for event in LifecycleSpace.events {
        let before = MessageLifecycle(state, evidence)
        var after = before
        guard let reaction = after.take(event) else {
          #expect(after == before, "\(event) was ignored and changed the message")
          continue
        }
        let step = "\(state) with \(evidence) took \(event): \(after.state), \(reaction)"
        switch before.state {
        case .ended, .left: Issue.record("an event after the end was not ignored: \(step)")
        default: break
        }
        // The reaction and the state agree.
        switch after.state {
        case .ended(let conclusion): #expect(reaction.next == .end(conclusion), "\(step)")
        case .left: #expect(reaction.next == .leave && reaction.persist == nil, "\(step)")
        case .awaitingDecision(let question) where before.state != after.state:
          #expect(reaction.next == .ask(question), "\(step)")
        case .dispatched where before.state != after.state:
          #expect(reaction.next == .give && before.state == .recording, "\(step)")
          #expect(!after.evidence.mayHaveBeenTaken || before.evidence.mayHaveBeenTaken, "\(step)")
        default: break
        }
        // A dropped message was never with an agent, as far as anybody knows.
        if let conclusion = after.conclusion, after.evidence.mayHaveBeenTaken, event != .lookedUp(.absent) {
          switch conclusion {
          case .withdrawn: Issue.record("called withdrawn: \(step)")
          case .refused, .notTaken, .aborted(false), .setAside(false), .unavailable(false):
            // A refusal is the agent's own word.
            #expect([.refused, .refusedByModel, .refusedByAgent, .runEnded].contains(event), "\(step)")
          default: break
          }
        }
        if reaction.persist?.stage == .received { #expect(!after.evidence.mayHaveBeenTaken, "\(step)") }
        if reaction.isTooLate { #expect(event == .withdrawn && after.evidence.isWithdrawn, "\(step)") }
      }
    }
  }

  @Test func `a message that runs is stored before the agent has it and again when the agent took it`() {
    var life = MessageLifecycle()
    life.take(.enqueued)
    #expect(life.take(.turn)?.next == .startAgent)
    #expect(life.take(.agentReady)?.next == .prepare)
    #expect(
      life.take(.prepared(.after("e7")))?.next == .record(StageChange(.dispatching(after: .after("e7")))))
    #expect(life.take(.recorded)?.next == .give)
    #expect(life.take(.userMessageSeen)?.persist == StageChange(.accepted))
    #expect(life.take(.runEnded)?.next == .end(.ran))
    #expect(life.conclusion?.stage == .settled)
  }

  @Test func `an agent that exits before it took the message gets it again only when its transcript lacks it`() {
    var life = life(.dispatched) { $0.position = .after("e1") }
    let reaction = life.take(.agentExited(wasGiven: true))
    #expect(reaction?.next == .queueInFront && reaction?.persist == nil)
    #expect(life.evidence.mayHaveBeenTaken && life.evidence.position == .after("e1"))
    life.take(.turn)
    #expect(life.take(.agentReady)?.next == .lookUp)
    var present = life
    #expect(present.take(.lookedUp(.present))?.next == .end(.interrupted))
    #expect(life.take(.lookedUp(.absent))?.next == .prepare)
    #expect(!life.evidence.mayHaveBeenTaken)
  }

  @Test func `a message that was never written to the agent waits again as received`() {
    var life = life(.dispatched)
    #expect(life.take(.agentExited(wasGiven: false))?.persist == StageChange(.received))
    #expect(life.state == .queued)
  }

  @Test func `two agents that exit before they took a message set it aside`() {
    var life = life(.dispatched) { $0.attempts = 1 }
    #expect(life.take(.agentExited(wasGiven: true))?.next == .end(.setAside(mayHaveBeenTaken: true)))
    #expect(life.conclusion?.stage == .interrupted)
  }

  @Test func `only a person decides where nothing proves that the agent took the message`() {
    var life = life(.verifying) { $0.mayHaveBeenTaken = true }
    let reaction = life.take(.lookedUp(.inconclusive))
    #expect(reaction?.next == .ask(.possiblyTaken))
    #expect(reaction?.persist == StageChange(.dispatching(after: .unknown)))
    var dropped = life
    #expect(dropped.take(.chose(.drop))?.next == .end(.aborted(mayHaveBeenTaken: true)))
    #expect(life.take(.chose(.runAgain))?.next == .prepare)
  }

  @Test func `an agent that fails to start is tried once more before the person is asked`() {
    var life = life(.starting)
    #expect(life.take(.agentUnavailable)?.next == .startAgent)
    #expect(life.take(.agentUnavailable)?.next == .ask(.agentUnavailable))
    var retried = life
    #expect(retried.take(.chose(.tryAgain))?.next == .startAgent)
    #expect(life.take(.chose(nil))?.next == .end(.unavailable(mayHaveBeenTaken: false)))
  }

  @Test func `a full queue keeps a message that the agent may have`() {
    var uncertain = life(.received) { $0.mayHaveBeenTaken = true }
    uncertain.take(.queueFull)
    #expect(uncertain.state == .queued)
    var new = MessageLifecycle()
    #expect(new.take(.queueFull)?.next == .end(.refused))
  }

  @Test func `a withdrawal is too late once the message may be with the agent`() {
    var queued = life(.queued)
    #expect(queued.take(.withdrawn)?.next == .end(.withdrawn))
    for state in [MessageLifecycle.State.recording, .dispatched, .running, .steering] {
      var life = life(state)
      #expect(life.take(.withdrawn)?.isTooLate == true)
    }
    var uncertain = life(.queued) { $0.mayHaveBeenTaken = true }
    #expect(uncertain.take(.withdrawn)?.isTooLate == true)
    uncertain.take(.turn)
    uncertain.take(.agentReady)
    #expect(uncertain.take(.lookedUp(.absent))?.next == .end(.notTaken))
  }

  @Test func `a daemon that stops leaves what the agent does not work on, and ends what it works on`() {
    for state in LifecycleSpace.states.dropLast(2) {
      var life = life(state)
      guard life.take(.shutDown) != nil, life.state != .left else { continue }
      // The step under way ends.
      for event in LifecycleSpace.events where life.state != .left && life.conclusion == nil { life.take(event) }
      if state == .running {
        #expect(life.conclusion != nil)
      } else {
        #expect(life.state == .left || life.conclusion != nil, "\(state) ended as \(life.state)")
      }
    }
    var running = life(.running)
    running.take(.shutDown)
    #expect(running.take(.agentExited(wasGiven: true))?.next == .end(.interrupted))
    var dispatched = life(.dispatched)
    dispatched.take(.shutDown)
    #expect(dispatched.take(.agentExited(wasGiven: true))?.next == .leave)
  }

  @Test(arguments: [MessageLifecycle.State.starting, .verifying, .preparing, .recording, .dispatched])
  func `a message that was stopped is over, also when the daemon stops before its step ends`(
    state: MessageLifecycle.State
  ) {
    var life = life(state)
    life.take(.aborted)
    life.take(.shutDown)
    for event in LifecycleSpace.events where life.conclusion == nil && event != .userMessageSeen { life.take(event) }
    #expect(life.conclusion != nil, "\(life.state)")
  }

  @Test func `a stopped message is not given, and not given again`() {
    var starting = life(.starting)
    #expect(starting.take(.aborted)?.next == .interrupt)
    #expect(starting.take(.agentReady)?.next == .end(.aborted(mayHaveBeenTaken: false)))
    var recording = life(.recording)
    recording.take(.aborted)
    #expect(recording.take(.recorded)?.next == .end(.aborted(mayHaveBeenTaken: false)))
    var dispatched = life(.dispatched)
    #expect(dispatched.take(.aborted)?.next == .interrupt)
    #expect(dispatched.take(.agentExited(wasGiven: true))?.next == .end(.aborted(mayHaveBeenTaken: true)))
    var running = life(.running)
    #expect(running.take(.aborted)?.next == .interrupt)
    #expect(running.take(.agentExited(wasGiven: true))?.next == .end(.aborted(mayHaveBeenTaken: true)))
    var verifying = life(.verifying) { $0.mayHaveBeenTaken = true }
    verifying.take(.aborted)
    #expect(verifying.take(.lookedUp(.absent))?.next == .end(.aborted(mayHaveBeenTaken: false)))
  }

  @Test func `a withdrawn steering message that the run may have taken is looked up and not run`() {
    var life = life(.steering) { $0.isWithdrawn = true }
    life.take(.runEndedWithout(mayHaveTaken: true))
    #expect(life.state == .queued && life.evidence.isWithdrawn)
    life.take(.turn)
    #expect(life.take(.agentReady)?.next == .lookUp)
    #expect(life.take(.lookedUp(.absent))?.next == .end(.notTaken))
  }

  @Test func `a steered message waits for its own turn when the run did not take it`() {
    var life = MessageLifecycle()
    #expect(life.take(.steered)?.persist == StageChange(.dispatching(after: .unknown)))
    var unseen = life
    #expect(unseen.take(.runEndedWithout(mayHaveTaken: false))?.persist == StageChange(.received))
    #expect(unseen.state == .queued && !unseen.evidence.mayHaveBeenTaken)
    var uncertain = life
    #expect(uncertain.take(.runEndedWithout(mayHaveTaken: true))?.persist == nil)
    #expect(uncertain.evidence.mayHaveBeenTaken)
    #expect(life.take(.seenInRun)?.next == .end(.takenIntoRun))
  }

  @Test func `a restored message continues where its stored stage allows`() {
    var received = MessageLifecycle(restoring: .received, isWithdrawn: false)
    received.take(.foundAfterRestart)
    #expect(received.state == .received && received.evidence.isAdmitted)
    var withdrawn = MessageLifecycle(restoring: .received, isWithdrawn: true)
    #expect(withdrawn.take(.foundAfterRestart)?.next == .end(.withdrawn))
    for stage in [MessageStage.handling, .accepted(session: "s")] {
      var life = MessageLifecycle(restoring: stage, isWithdrawn: false)
      #expect(life.take(.foundAfterRestart)?.next == .end(.interrupted))
    }
    var dispatching = MessageLifecycle(
      restoring: .dispatching(session: "s", after: .after("e")), position: .after("e"), isWithdrawn: true)
    dispatching.take(.foundAfterRestart)
    dispatching.take(.enqueued)
    dispatching.take(.turn)
    #expect(dispatching.take(.agentReady)?.next == .lookUp)
  }
}

@Suite struct ReceivedEndTests {
  @Test(arguments: MessageLifecycle.ReceivedEnd.allCases)
  func `a message that no session has ends as its life says`(end: MessageLifecycle.ReceivedEnd) {
    var life = MessageLifecycle()
    life.take(end.event)
    #expect(life.conclusion == end.conclusion)
  }
}
