import Drills
import RelayModel
import RelayWire
import TestSupport
import Testing

private typealias Step = MessageHistory.Step

extension MessageHistory.Step {
  fileprivate static let arrival = stored(.received)
  fileprivate static let answered = ended(.settled, .answered)

  fileprivate static func given(_ entry: String) -> MessageHistory.Step { stored(.dispatching(after: .after(entry))) }
}

/// A history that no life explains.
private struct Forbidden: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let history: MessageHistory

  init(
    _ name: String, _ steps: [Step], told: [MessageSettled.Outcome] = [], acceptances: Int = 1, decisions: Int = 0,
    entries: Int? = nil
  ) {
    testDescription = name
    var history = MessageHistory("m1", steps)
    history.told = told
    history.acceptances = acceptances
    history.decisions = decisions
    history.entries = entries
    self.history = history
  }

  static let all = [
    Forbidden("a stage before the arrival", [.given("a")]),
    Forbidden("two arrivals", [.arrival, .arrival]),
    Forbidden("two arrivals, by the messenger", [.arrival], acceptances: 2),
    Forbidden("an acceptance without an arrival", [.daemonKilled]),
    Forbidden("taken without having been given", [.arrival, .stored(.accepted)]),
    Forbidden("back from the agent to the dispatch", [.arrival, .given("a"), .stored(.accepted), .given("a")]),
    Forbidden("back from the agent to the queue", [.arrival, .given("a"), .stored(.accepted), .arrival]),
    Forbidden("back from a command to the agent", [.arrival, .stored(.handling), .given("a")]),
    Forbidden("a prompt carried out as a command", [.arrival, .given("a"), .stored(.handling)]),
    Forbidden("a command carried out twice", [.arrival, .stored(.handling), .daemonKilled, .stored(.handling)]),
    Forbidden("two ends", [.arrival, .given("a"), .stored(.accepted), .answered, .ended(.interrupted, .failed)]),
    Forbidden("a stage after the end", [.arrival, .ended(.settled, .handled), .given("a")]),
    Forbidden("answered without a run", [.arrival, .answered]),
    Forbidden("dropped by a run", [.arrival, .given("a"), .stored(.accepted), .ended(.dropped, .failed)]),
    Forbidden("an end with the outcome of another", [.arrival, .ended(.settled, .stopped)]),
    Forbidden("interrupted by nothing", [.arrival, .given("a"), .stored(.accepted), .ended(.interrupted, .failed)]),
    Forbidden("given again after no fault", [.arrival, .given("a"), .given("b")]),
    Forbidden(
      "set aside after one fault",
      [.arrival, .given("a"), .reason(.agentKilled), .given("b"), .ended(.interrupted, .failed)]),
    Forbidden("withdrawn by nobody", [.arrival, .ended(.dropped, .stopped)]),
    Forbidden(
      "interrupted after an upgrade",
      [.arrival, .upgradeBegan, .upgradeEnded, .given("a"), .stored(.accepted), .ended(.interrupted, .failed)]),
    Forbidden("two ends, by the messenger", [.arrival, .ended(.settled, .handled)], told: [.handled, .failed]),
    Forbidden("the messenger was told another end", [.arrival, .ended(.settled, .handled)], told: [.failed]),
    Forbidden("the messenger was told an end before that", [.arrival, .given("a")], told: [.answered]),
    Forbidden(
      "given twice while it may have been taken",
      [.arrival, .given("a"), .reason(.agentKilled), .given("b"), .stored(.accepted), .answered], entries: 2),
    Forbidden(
      "given twice over a restart", [.arrival, .given("a"), .daemonKilled, .given("b"), .stored(.accepted), .answered],
      entries: 2),
    Forbidden(
      "given again without the person's word",
      [.arrival, .given("a"), .daemonKilled, .stored(.dispatching(after: .unknown)), .given("b")]),
    Forbidden(
      "waits again while the agent has it",
      [.arrival, .given("a"), .daemonKilled, .arrival, .given("b"), .stored(.accepted), .answered], entries: 2),
    Forbidden("never given, and with the agent", [.arrival, .ended(.settled, .handled)], entries: 1),
  ]
}

@Suite struct LifecycleOracleTests {
  @Test(arguments: Forbidden.all)
  private func `a history that no life explains is reported`(_ forbidden: Forbidden) throws {
    let problem = try #require(LifecycleOracle.problem(in: forbidden.history))
    #expect(problem.hasPrefix("m1 is not explained by the life of a message: "), "\(problem)")
  }

  @Test func `the report names the step and the states before it`() throws {
    let steps: [Step] = [.arrival, .given("a"), .stored(.accepted), .reason(.agentKilled), .ended(.dropped, .failed)]
    let problem = try #require(LifecycleOracle.problem(in: MessageHistory("m1", steps)))
    #expect(
      problem == """
        m1 is not explained by the life of a message: its step 5 follows from no event: before it the message was running
            1. stored: received
            2. stored: dispatching, transcript position after("a")
            3. stored: accepted
            4. an agent was killed
            5. stored: dropped, told as failed   <- impossible
            The messenger was told 0 time(s) that it is new, and no end.
        """)
  }

  @Test func `a message that is left by an upgrade is found as it is stored`() {
    let steps: [Step] = [
      .arrival, .given("a"), .upgradeBegan, .upgradeEnded, .stored(.accepted), .ended(.interrupted, .failed),
    ]
    #expect(LifecycleOracle.problem(in: MessageHistory("m1", steps)) == nil)
  }

  @Test func `a message is run again only when a person says so, once each time`() {
    let steps: [Step] = [
      .arrival, .given("a"), .daemonKilled, .stored(.dispatching(after: .unknown)), .given("b"), .stored(.accepted),
      .answered,
    ]
    var history = MessageHistory("m1", steps)
    history.told = [.answered]
    history.decisions = 1
    for entries in 0...2 {
      history.entries = entries
      #expect(LifecycleOracle.problem(in: history) == nil)
    }
    history.entries = 3
    #expect(LifecycleOracle.problem(in: history) != nil)
  }

  @Test(arguments: 0..<20)
  func `every random life is explained, and no step after its end`(batch: Int) {
    for number in 0..<20 {
      var walk = MachineWalk(seed: UInt64(batch * 20 + number))
      walk.run()
      #expect(LifecycleOracle.problem(in: walk.history) == nil)
      guard case .ended(_, let outcome)? = walk.history.steps.last else { continue }
      for step: Step in [.arrival, .stored(.accepted), .answered, .ended(.dropped, outcome)] {
        var longer = walk.history
        longer.steps.append(step)
        #expect(LifecycleOracle.problem(in: longer) != nil, "a step after the end is explained")
      }
      var other = walk.history
      other.told.append(outcome == .failed ? .stopped : .failed)
      #expect(LifecycleOracle.problem(in: other) != nil, "a second end is explained")
      var twice = walk.history
      let dispatches = walk.history.steps.count { if case .stored(.dispatching) = $0 { true } else { false } }
      twice.entries = dispatches + 1
      #expect(LifecycleOracle.problem(in: twice) != nil, "more entries than dispatches are explained")
    }
  }
}

/// A random life of a message among faults and wishes, and its history as seen from outside.
private struct MachineWalk {
  private(set) var history = MessageHistory("m1", [.arrival])
  private var random: SplitMix
  private var life: MessageLifecycle
  private var stored = MessageStage.received
  private var isInTranscript = false

  init(seed: UInt64) {
    random = SplitMix(seed: seed)
    life = MessageLifecycle(isAdmitted: seed % 2 == 0)
    history.acceptances = 1
    history.decisions = 0
    history.entries = 0
  }

  mutating func run() {
    for _ in 0..<300 where life.conclusion == nil { step() }
    guard case .ended(_, let outcome)? = history.steps.last else { return }
    history.told = [outcome]
  }

  private mutating func step() {
    if life.state == .left || Int.random(in: 0..<25, using: &random) == 0 { return restart() }
    guard let event = LifecycleOracle.events([.unknown, .empty, .after("a")]).randomElement(using: &random),
      event != .foundAfterRestart, isPossible(event)
    else { return }
    take(event)
  }

  private mutating func restart() {
    history.steps.append(.daemonKilled)
    life = MessageLifecycle(restoring: stored, isWithdrawn: life.evidence.isWithdrawn)
    take(.foundAfterRestart)
  }

  /// The agent and its transcript say the truth.
  private func isPossible(_ event: MessageLifecycle.Event) -> Bool {
    switch event {
    case .lookedUp(.present): return isInTranscript
    case .lookedUp(.absent): return !isInTranscript
    default:
      var next = life
      return next.take(event)?.persist?.stage != .received || !isInTranscript
    }
  }

  private mutating func take(_ event: MessageLifecycle.Event) {
    let position = life.evidence.position
    guard let reaction = life.take(event) else { return }
    note(event)
    if let change = reaction.persist { store(change.stage) }
    if event == .recorded { store(.dispatching(after: position)) }
    if reaction.next == .give || event == .steered, Bool.random(using: &random) {
      isInTranscript = true
      history.entries? += 1
    }
    guard case .end(let conclusion) = reaction.next else { return }
    let outcomes: [MessageSettled.Outcome] = [.answered, .failed, .stopped]
    let ofRun = conclusion == .ran ? outcomes.randomElement(using: &random) : nil
    history.steps.append(.ended(conclusion.stage, ofRun ?? conclusion.outcome))
  }

  private mutating func note(_ event: MessageLifecycle.Event) {
    if let reason = MessageHistory.Reason(of: event) { history.steps.append(.reason(reason)) }
    guard case .chose(.some(let choice)) = event else { return }
    history.decisions? += 1
    if choice == .runAgain { isInTranscript = false }
  }

  private mutating func store(_ stage: StageChange.Stage) {
    history.steps.append(.stored(stage))
    stored =
      switch stage {
      case .received: .received
      case .handling: .handling
      case .dispatching(let position): .dispatching(session: "s", after: position)
      case .accepted: .accepted(session: "s")
      }
  }
}
