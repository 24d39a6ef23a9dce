import RelayWire
import Testing

@testable import RelayModel

/// An owner that does as each reaction says, with faults and people at random.
private struct Owner {
  var life: MessageLifecycle
  var random: Seeded
  var stored: MessageStage = .received
  var waitsFor: MessageLifecycle.Next?
  /// The agent has the message in truth, in its transcript.
  var isInTranscript = false
  var given = 0
  var openQuestions = 0
  var ends = 0
  /// The person stopped it, or took it back in time.
  var isOver = false

  /// A new message, one that an earlier daemon left on its way, or one for a run in progress.
  init(seed: UInt64) {
    random = Seeded(state: seed)
    life = MessageLifecycle()
    switch seed % 3 {
    case 0:
      stored = .dispatching(session: "s", after: .after("e"))
      isInTranscript = seed % 2 == 0
      life = MessageLifecycle(restoring: stored, position: .after("e"), isWithdrawn: false)
      take(.foundAfterRestart)
    case 1: take(.steered)
    default: break
    }
  }

  mutating func take(_ event: MessageLifecycle.Event) {
    let before = life
    guard let reaction = life.take(event) else { return }
    let step = "\(before.state) took \(event): \(life.state), \(reaction)"
    if event == .aborted || event == .withdrawn && !reaction.isTooLate { isOver = true }
    if let change = reaction.persist { store(change, step) }
    switch reaction.next {
    case .wait: break
    case .give:
      #expect(!isOver, "given after the person's word: \(step)")
      #expect(!life.evidence.mayHaveBeenTaken, "given while it may have been taken: \(step)")
      #expect(!isInTranscript, "given twice: \(step)")
      if case .dispatching = stored {} else { Issue.record("given before that was stored: \(step)") }
      given += 1
      waitsFor = .give
    case .ask:
      openQuestions += 1
      waitsFor = reaction.next
    case .queueInFront: waitsFor = nil
    case .interrupt:
      // The owner withdraws an open question: nobody answers it.
      if case .ask = waitsFor {
        openQuestions -= 1
        waitsFor = nil
        take(.chose(nil))
      }
    case .end(let conclusion):
      ends += 1
      if isInTranscript, !life.evidence.isWithdrawn,
        ![.ran, .interrupted, .handledByAgent, .takenIntoRun].contains(conclusion)
      {
        #expect(conclusion.stage != .dropped || conclusion == .refused, "called not taken: \(step)")
      }
      waitsFor = nil
    case .leave: waitsFor = nil
    case .startAgent, .lookUp, .prepare, .record: waitsFor = reaction.next
    }
  }

  private mutating func store(_ change: StageChange, _ step: String) {
    switch change.stage {
    case .received:
      #expect(!isInTranscript, "stored as waiting while the agent has it: \(step)")
      stored = .received
    case .handling: Issue.record("a message on its way is carried out as a command: \(step)")
    case .dispatching(let position): stored = .dispatching(session: "s", after: position)
    case .accepted: stored = .accepted(session: "s")
    }
  }

  private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

  /// One thing happens: the step under way comes to an end, a fault, or a person's wish.
  mutating func step() {
    if chance(12) { return take([.withdrawn, .aborted, .shutDown].randomElement(using: &random)!) }
    switch life.state {
    case .received: return take(chance(10) ? .queueFull : .enqueued)
    case .queued: return take(.turn)
    case .steering:
      switch Int.random(in: 0..<4, using: &random) {
      case 0: return take(.steeringRefused)
      case 1: return take(.runEndedWithout(mayHaveTaken: false))
      case 2:
        isInTranscript = chance(2)
        return take(.runEndedWithout(mayHaveTaken: true))
      default:
        isInTranscript = true
        return take(.seenInRun)
      }
    case .running: return take(chance(3) ? .agentExited(wasGiven: true) : .runEnded)
    default: break
    }
    switch waitsFor {
    case .startAgent: take(chance(4) ? .agentUnavailable : .agentReady)
    case .ask(let question):
      openQuestions -= 1
      waitsFor = nil
      let choices: [MessageLifecycle.Choice?] = [.tryAgain, .runAgain, .drop, nil]
      take(.chose(choices.randomElement(using: &random)!))
      if question == .possiblyTaken, life.state == .preparing { isInTranscript = false }
    case .lookUp:
      if chance(5) { return take(.agentExited(wasGiven: false)) }
      take(.lookedUp(chance(4) ? .inconclusive : isInTranscript ? .present : .absent))
    case .prepare: take(chance(8) ? .agentExited(wasGiven: false) : .prepared(.after("e")))
    case .record(let change):
      store(change, "recorded")
      take(.recorded)
    case .give:
      if chance(4) {
        // It took the message, and nobody saw it.
        isInTranscript = chance(2)
        return take(.agentExited(wasGiven: true))
      }
      if chance(10) { return take(.refusedByAgent) }
      isInTranscript = true
      take(.userMessageSeen)
    default: take(.turn)
    }
  }
}

/// A generator whose walks can be repeated.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

@Suite struct MessageLifecycleWalks {
  @Test(arguments: 0..<40)
  func `random walks end once, and give a message only when no agent has it`(batch: Int) {
    for walk in 0..<250 {
      var owner = Owner(seed: UInt64(batch * 1000 + walk))
      var steps = 0
      while owner.life.conclusion == nil, owner.life.state != .left, steps < 400 {
        owner.step()
        steps += 1
      }
      #expect(owner.ends == (owner.life.conclusion == nil ? 0 : 1))
      #expect(owner.openQuestions == 0, "a question stayed open in walk \(batch)/\(walk)")
      #expect(steps < 400, "walk \(batch)/\(walk) does not end: \(owner.life.state)")
    }
  }
}
