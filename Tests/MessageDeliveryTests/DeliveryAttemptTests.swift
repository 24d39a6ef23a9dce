import RelayModel
import TestSupport
import Testing

@testable import MessageDelivery

@Suite struct DeliveryAttemptTests {
  typealias Attempt = DeliveryAttempt
  typealias Answer = DeliveryAttempt.Answer

  static let first: Duration = .milliseconds(250)
  static let pace: Duration = .seconds(1)
  static let answers: [Answer] = [
    .delivered(message: "m"), .notDelivered, .delayed(.seconds(7)), .connectionLost, .timedOut, .unconfirmed,
    .failed("why"), .unreadable("why"), .gone("why"), .refused("why"),
  ]
  static let events: [Attempt.Event] =
    [.begun, .waited] + answers.map { .answered($0) }
    + [.present(message: "m"), .absent, .inconclusive].map { .lookedUp($0) }

  private func attempt(
    _ kind: Attempt.Kind = .addition, tries: Int = 5, crashes: Int = 2, after: SendTries = SendTries(),
    mayHaveArrived: Bool = false
  ) -> Attempt {
    Attempt(kind, .init(tries: tries, crashes: crashes), after: after, mayHaveArrived: mayHaveArrived)
  }

  /// An attempt in each state, with the events that belong to the state.
  private var states: [(Attempt, belongs: (Attempt.Event) -> Bool)] {
    var inFlight = attempt()
    _ = inFlight.next(after: .begun)
    var unknown = inFlight
    _ = unknown.next(after: .answered(.timedOut))
    var waiting = inFlight
    _ = waiting.next(after: .answered(.notDelivered))
    var done = inFlight
    _ = done.next(after: .answered(.delivered(message: "m")))
    return [
      (attempt(), { $0 == .begun }),
      (inFlight, { if case .answered = $0 { true } else { false } }),
      (unknown, { if case .lookedUp = $0 { true } else { false } }),
      (waiting, { $0 == .waited }),
      (done, { _ in false }),
    ]
  }

  @Test(arguments: events)
  func `an event that does not belong to the state changes nothing`(event: Attempt.Event) {
    for (attempt, belongs) in states {
      var next = attempt
      let action = next.next(after: event)
      #expect((action != nil) == belongs(event), "\(attempt.state), \(event)")
      if action == nil { #expect(next == attempt) }
    }
  }

  @Test(
    arguments: zip(
      answers,
      [
        Attempt.Action.succeed(message: "m", mayBeRepeat: false), .wait(first), .wait(.seconds(7)), .lookUp, .lookUp,
        .lookUp, .lookUp, .lookUp, .giveUp(.gone("why")), .giveUp(.refused("why")),
      ]))
  func `a message whose outcome is unknown is looked up`(answer: Answer, action: Attempt.Action) {
    var attempt = attempt()
    #expect(attempt.next(after: .begun) == .send(marked: false))
    #expect(attempt.next(after: .answered(answer)) == action)
    #expect((attempt.state == .done) == action.isLast)
  }

  @Test(
    arguments: zip(
      answers,
      [
        Attempt.Action.succeed(message: "m", mayBeRepeat: false), .wait(first), .wait(.seconds(7)), .wait(.zero),
        .wait(first), .wait(first), .giveUp(.refused("why")), .succeed(message: nil, mayBeRepeat: false),
        .giveUp(.gone("why")), .giveUp(.refused("why")),
      ]))
  func `a change is made again without a look-up`(answer: Answer, action: Attempt.Action) {
    var attempt = attempt(.change, mayHaveArrived: true)
    #expect(attempt.next(after: .begun) == .send(marked: false))
    #expect(attempt.next(after: .answered(answer)) == action)
  }

  @Test(
    arguments: zip(
      answers,
      [
        Attempt.Action.succeed(message: "m", mayBeRepeat: false), .postpone(pace), .postpone(.seconds(7)), .wait(.zero),
        .wait(first), .postpone(pace), .giveUp(.refused("why")), .succeed(message: nil, mayBeRepeat: false),
        .giveUp(.gone("why")), .giveUp(.refused("why")),
      ]))
  func `a growing message waits in place only for the next process of its messenger, however few the tries`(
    answer: Answer, action: Attempt.Action
  ) {
    for tries in [1, 24] {
      var attempt = attempt(.growth, tries: tries)
      #expect(attempt.next(after: .begun) == .send(marked: false))
      #expect(attempt.next(after: .answered(answer)) == action)
    }
  }

  @Test(arguments: [Answer.connectionLost, .timedOut])
  func `a growing message that crashed its messenger is tried once more, then postponed or set aside`(crash: Answer) {
    for (answer, action) in [
      (Answer.notDelivered, Attempt.Action.postpone(Self.pace)), (.delayed(.seconds(7)), .postpone(.seconds(7))),
      (.connectionLost, .giveUp(.crashes(2))), (.timedOut, .giveUp(.crashes(2))),
    ] {
      var attempt = attempt(.growth, tries: 1)
      _ = attempt.next(after: .begun)
      #expect(attempt.next(after: .answered(crash)) == .wait(crash == .connectionLost ? .zero : Self.first))
      #expect(attempt.next(after: .waited) == .send(marked: false))
      #expect(attempt.next(after: .answered(answer)) == action)
    }
  }

  @Test(arguments: [
    (Attempt.Kind.change, Duration.milliseconds(21_750)), (.repeatable, .milliseconds(511_750)),
    (.addition, .milliseconds(511_750)),
  ])
  func `a change is given up after seconds, anything else after minutes`(kind: Attempt.Kind, time: Duration) {
    var attempt = attempt(kind, tries: 24)
    var waited = Duration.zero
    var action = attempt.next(after: .begun)
    while let current = action, !current.isLast {
      if case .wait(let delay) = current {
        waited += delay
        action = attempt.next(after: .waited)
      } else {
        action = attempt.next(after: .answered(.notDelivered))
      }
    }
    #expect(action == .giveUp(.triesUsedUp(24)))
    #expect(waited == time)
  }

  @Test(arguments: [Answer.failed("why"), .timedOut, .unconfirmed])
  func `a request that changes no message is tried until its tries are used up, unless connections are lost over it`(
    answer: Answer
  ) {
    var attempt = attempt(.repeatable, tries: 4, crashes: 3)
    _ = attempt.next(after: .begun)
    var lost = attempt
    for number in 0..<3 {
      #expect(attempt.next(after: .answered(answer)) == .wait(Self.first * (1 << number)))
      _ = attempt.next(after: .waited)
    }
    #expect(attempt.next(after: .answered(answer)) == .giveUp(.triesUsedUp(4)))
    for number in 0..<2 {
      #expect(lost.next(after: .answered(.connectionLost)) == .wait(Self.first * (1 << number)))
      _ = lost.next(after: .waited)
    }
    #expect(lost.next(after: .answered(.connectionLost)) == .giveUp(.crashes(3)))
  }

  @Test func `only a look-up that proves nothing marks the next try`() {
    var attempt = attempt()
    _ = attempt.next(after: .begun)
    #expect(attempt.next(after: .answered(.timedOut)) == .lookUp)
    #expect(attempt.next(after: .lookedUp(.absent)) == .send(marked: false))
    #expect(attempt.next(after: .answered(.unconfirmed)) == .lookUp)
    #expect(attempt.next(after: .lookedUp(.inconclusive)) == .wait(Self.first * 2))
    #expect(attempt.next(after: .waited) == .send(marked: true))
    var found = attempt
    #expect(attempt.next(after: .answered(.delivered(message: "m"))) == .succeed(message: "m", mayBeRepeat: true))
    _ = found.next(after: .answered(.connectionLost))
    #expect(found.next(after: .lookedUp(.present(message: "m"))) == .succeed(message: "m", mayBeRepeat: false))
  }

  @Test(arguments: [Attempt.LookUp.absent, .inconclusive])
  func `a message with an unreadable answer is sent once more only where the look-up says that it is absent`(
    result: Attempt.LookUp
  ) {
    var attempt = attempt()
    _ = attempt.next(after: .begun)
    _ = attempt.next(after: .answered(.unreadable("why")))
    guard result == .absent else {
      #expect(attempt.next(after: .lookedUp(result)) == .giveUp(.unreadable("why")))
      return
    }
    #expect(attempt.next(after: .lookedUp(result)) == .send(marked: false))
    _ = attempt.next(after: .answered(.unreadable("why")))
    #expect(attempt.next(after: .lookedUp(result)) == .giveUp(.unreadable("why")))
  }

  @Test func `a request over which the messenger crashes twice is given up, however often it hangs`() {
    var attempt = attempt()
    _ = attempt.next(after: .begun)
    for answer in [Answer.timedOut, .connectionLost, .timedOut] {
      #expect(attempt.next(after: .answered(answer)) == .lookUp)
      if case .wait? = attempt.next(after: .lookedUp(.absent)) { _ = attempt.next(after: .waited) }
    }
    #expect(attempt.next(after: .answered(.connectionLost)) == .giveUp(.crashes(2)))
  }

  @Test(arguments: [Answer.connectionLost, .timedOut])
  func `a change over which the messenger crashes or hangs twice is given up`(answer: Answer) {
    var attempt = attempt(.change)
    _ = attempt.next(after: .begun)
    #expect(attempt.next(after: .answered(.notDelivered)) == .wait(Self.first))
    _ = attempt.next(after: .waited)
    #expect(attempt.next(after: .answered(answer)) == .wait(answer == .connectionLost ? .zero : Self.first * 2))
    _ = attempt.next(after: .waited)
    #expect(attempt.next(after: .answered(.connectionLost)) == .giveUp(.crashes(2)))
  }

  @Test(arguments: [Attempt.Kind.change, .growth])
  func `a change whose connection is lost is tried as soon as the messenger is connected again`(kind: Attempt.Kind) {
    var attempt = attempt(kind)
    _ = attempt.next(after: .begun)
    #expect(attempt.next(after: .answered(.connectionLost)) == .wait(.zero))
    #expect(attempt.next(after: .waited) == .send(marked: false))
  }

  @Test func `an attempt continues where an earlier daemon stopped`() {
    var attempt = attempt(after: SendTries(failed: 4, wait: .seconds(3)), mayHaveArrived: true)
    #expect(attempt.next(after: .begun) == .wait(.seconds(3)))
    #expect(attempt.next(after: .waited) == .lookUp)
    #expect(attempt.next(after: .lookedUp(.absent)) == .wait(Self.first * 8))
    #expect(attempt.next(after: .waited) == .send(marked: false))
    #expect(attempt.next(after: .answered(.notDelivered)) == .giveUp(.triesUsedUp(5)))
    #expect(attempt.tries.failed == 5)
    var used = self.attempt(after: SendTries(failed: 5), mayHaveArrived: true)
    #expect(used.next(after: .begun) == .lookUp)
    #expect(used.next(after: .lookedUp(.absent)) == .giveUp(.triesUsedUp(5)))
  }

  @Test(arguments: UInt64(0)..<20)
  func `random walks end, and repeat nothing without a look-up or a mark`(batch: UInt64) {
    for number in UInt64(0)..<200 { walk(SplitMix(seed: batch * 1000 + number)) }
  }

  private func walk(_ source: SplitMix) {
    var random = source
    let limits = Attempt.Limits(tries: Int.random(in: 1...6, using: &random), crashes: 2)
    let mayHaveArrived = Bool.random(using: &random)
    let kind = Attempt.Kind.allCases.randomElement(using: &random)!
    var attempt = Attempt(kind, limits, mayHaveArrived: mayHaveArrived)
    var (sends, crashes, steps) = (0, 0, 0)
    var mayBeThere = mayHaveArrived
    var isLookedUp = false
    var action = attempt.next(after: .begun)
    while let current = action, !current.isLast {
      steps += 1
      switch current {
      case .send(let marked):
        #expect(kind != .addition || !mayBeThere || isLookedUp || marked, "sent blindly")
        sends += 1
        let answer = Self.answers.randomElement(using: &random)!
        if answer == .connectionLost { crashes += 1 }
        switch answer {
        case .connectionLost, .timedOut, .unconfirmed, .failed, .unreadable:
          mayBeThere = true
          isLookedUp = false
        default: break
        }
        action = attempt.next(after: .answered(answer))
      case .lookUp:
        #expect(kind == .addition)
        let result = [Attempt.LookUp.present(message: "m"), .absent, .inconclusive].randomElement(using: &random)!
        if result == .absent { isLookedUp = true }
        action = attempt.next(after: .lookedUp(result))
      case .wait: action = attempt.next(after: .waited)
      case .postpone, .succeed, .giveUp: break
      }
      guard steps < 100 else { break }
    }
    #expect(action?.isLast == true)
    #expect(attempt.state == .done)
    #expect(sends <= (kind == .growth ? limits.crashes : limits.tries))
    #expect(crashes <= limits.crashes)
  }
}
