internal import RelayModel
internal import RelayWire

extension LifecycleOracle {
  /// The trace of an event in the store.
  enum Trace: Equatable {
    case stored(StageChange.Stage)
    /// With any outcome where there is none.
    case ended(MessageStage, MessageSettled.Outcome?)

    func matches(_ step: MessageHistory.Step) -> Bool {
      switch (self, step) {
      case (.stored(let stage), .stored(let seen)): stage == seen
      case (.ended(let stage, let outcome), .ended(let seen, let told)):
        stage == seen && (outcome == nil || outcome == told)
      default: false
      }
    }
  }

  struct Outcome {
    var life: Life
    var trace: Trace?
  }

  /// One life that explains a history so far, with the facts of the world around it.
  struct Life: Hashable {
    private var life: MessageLifecycle
    private var stored = StageChange.Stage.received
    /// An earlier daemon left the message, and nobody has taken it up.
    private var isLeft = false
    /// The agent's transcript has the message, as far as the agent was given it since a person last said to run it again.
    private var isInTranscript = false
    /// The result for this message when the session looked up all that an earlier daemon left.
    private var found: TranscriptLookup?
    private(set) var entries = 0
    private var decisions = 0
    private var reasons: [MessageHistory.Reason: Int] = [:]
    /// An upgrade is going on.
    private(set) var mayRestart = false

    init(_ life: MessageLifecycle) { self.life = life }

    var name: String { isLeft ? "left by an earlier daemon" : "\(life.state)" }

    func begun(isAdmitted: Bool) -> Life {
      var copy = self
      copy.life = MessageLifecycle(isAdmitted: isAdmitted)
      return copy
    }

    mutating func note(_ step: MessageHistory.Step) {
      switch step {
      case .reason(let reason): reasons[reason, default: 0] += 1
      case .upgradeBegan: mayRestart = true
      case .upgradeEnded: mayRestart = false
      case .stored, .ended, .daemonKilled: break
      }
    }

    // MARK: - Restarts

    /// The lives that the next daemon may find.
    var restored: [Life] {
      if life.conclusion != nil { return [self] }
      let withdrawals = reasons[.withdrawal] == nil ? [false] : [false, true]
      return withdrawals.map { isWithdrawn in
        var next = self
        next.life = MessageLifecycle(restoring: messageStage, isWithdrawn: isWithdrawn)
        next.isLeft = true
        next.found = nil
        return next
      }
    }

    private var messageStage: MessageStage {
      switch stored {
      case .received: .received
      case .handling: .handling
      case .dispatching(let position): .dispatching(session: "", after: position)
      case .accepted: .accepted(session: "")
      }
    }

    /// A session looks up all messages that an earlier daemon left, before it gives its agent the first.
    var lookedUpForAll: [Outcome] {
      guard case .dispatching = stored, life.evidence.mayHaveBeenTaken, life.conclusion == nil else { return [] }
      return TranscriptLookup.allCases.filter(isTrue).map { lookup in
        var next = self
        let stage = MessageLifecycle.change(of: lookup).stage
        next.found = lookup
        next.stored = stage
        return Outcome(life: next, trace: .stored(stage))
      }
    }

    private func isTrue(_ lookup: TranscriptLookup) -> Bool {
      switch lookup {
      case .present: isInTranscript
      case .absent: !isInTranscript
      case .inconclusive: true
      }
    }

    // MARK: - Events

    /// The lives after an event: none where it means nothing or contradicts the facts, two where the agent was given the
    /// message and may or may not write it into its transcript.
    func after(_ event: MessageLifecycle.Event, decisions limit: Int?) -> [Outcome] {
      guard isLeft == (event == .foundAfterRestart) else { return [] }
      var next = self
      guard let reaction = next.life.take(event), next.agrees(to: event, decisions: limit) else { return [] }
      next.isLeft = false
      var trace: Trace?
      if let change = reaction.persist { trace = .stored(change.stage) }
      if event == .recorded { trace = .stored(.dispatching(after: life.evidence.position)) }
      if case .end(let conclusion) = reaction.next {
        // The agent says what came of a run.
        let isOfRun = [.dispatched, .running].contains(life.state) && [.ran, .refused].contains(conclusion)
        trace = .ended(conclusion.stage, isOfRun ? nil : conclusion.outcome)
      }
      if case .stored(let stage) = trace { next.stored = stage }
      // Such a message is given again, without a look into the transcript.
      if trace == .stored(.received), isInTranscript { return [] }
      guard reaction.next == .give || event == .steered else { return [Outcome(life: next, trace: trace)] }
      var written = next
      written.isInTranscript = true
      written.entries += 1
      return [Outcome(life: next, trace: trace), Outcome(life: written, trace: trace)]
    }

    /// Counts the reason of an event, and compares its claim with the facts.
    private mutating func agrees(to event: MessageLifecycle.Event, decisions limit: Int?) -> Bool {
      switch event {
      case .lookedUp(let lookup):
        let isKnown = found == nil || found == lookup || (found == .absent && lookup == .inconclusive)
        found = nil
        guard isKnown, isTrue(lookup) else { return false }
      case .chose(.some(let choice)):
        if let limit {
          guard decisions < limit else { return false }
          decisions += 1
        }
        if choice == .runAgain { isInTranscript = false }
      default: break
      }
      guard let reason = MessageHistory.Reason(of: event) else { return true }
      // A turn that is interrupted gives up a start or a look-up as if the agent had exited.
      if reason == .agentKilled, life.evidence.interruption != nil { return true }
      guard let count = reasons[reason], count > 0 else { return false }
      reasons[reason] = count - 1
      return true
    }
  }
}
