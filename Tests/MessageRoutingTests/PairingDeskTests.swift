import ContentServices
import ConversationSessions
import Conversations
import MessageDelivery
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayLogging
import RelayModel
import RelayText
import RelayTransport
import RelayWire
import SessionCatalog
import TestSupport
import Testing

@testable import MessageRouting

/// Codes, their time and their throttle, with a clock that the test moves.
@Suite(.timeLimit(.minutes(1))) struct PairingDeskTests {
  private let folder: TemporaryFolder
  private let clock = ManualClock()

  init() throws { folder = try TemporaryFolder() }

  /// A desk, a messenger that admits nobody, and the way in to both.
  private func run(_ body: (PairingDesk, PlayedMessenger) async throws -> Void) async throws {
    try await ApprovalFixture.run(in: folder) { relay in
      let home = HomeDirectory(path: folder.path + "/home")
      let (timeSource, scope) = (ApprovalFixture.timeSource, TaskScope())
      let people = PairedPeople(store: relay.store)
      let directory = ConversationDirectory(
        store: relay.store, services: Services(home: home, clock: timeSource.clock, logger: .lines { _ in }),
        timeSource: timeSource, deliveries: Config().delivery, redaction: Redactor([]),
        checkpoints: StreamCheckpoints(folder: home.streams, logger: .lines { _ in }), taskScope: scope,
        logger: .lines { _ in })
      let questions = QuestionRegistry()
      let subscriptions = SessionSubscriptions(questions: questions, timeSource: timeSource) { _, _ in }
      let bindings = SessionBindings(
        store: relay.store, sessions: relay.sessions, directory: directory, people: people,
        subscriptions: subscriptions, logger: .lines { _ in })
      let desk = PairingDesk(
        settings: Config.Pairing(), people: people, sessions: relay.sessions, bindings: bindings,
        directory: directory, timeSource: TimeSource(clock: clock), logger: .lines { _ in })
      let gate = InboundGate(
        store: relay.store, directory: directory, subscriptions: subscriptions, questions: questions, people: people,
        pairing: desk, timeSource: timeSource, logger: .lines { _ in })
      let messenger = try PlayedMessenger(admitsEveryone: false)
      directory.connected(messenger.link)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await scope.run() }
        // Codes whose time runs sleep on the clock.
        defer { group.cancelAll() }
        try await messenger.run { request in
          do { try gate.receive(request.params(MessageReceived.self), request, messenger.link) } catch {
            request.fail(WireError(.invalidParams, "\(error)"))
          }
        } meanwhile: {
          try await body(desk, messenger)
        }
      }
    }
  }

  private func begin(_ desk: PairingDesk) async throws -> PairingOffer {
    let sleepers = clock.sleeperCount
    let offer = try await desk.begin(messenger: "fake", session: nil, label: nil)
    // Its time runs.
    await clock.sleepers(sleepers + 1)
    return offer
  }

  @Test func `a code whose time is over admits nobody, and its terminal is told`() async throws {
    try await run { desk, messenger in
      let offer = try await begin(desk)
      clock.advance(by: .seconds(300))
      let end = try await desk.step(of: offer.pairing)
      #expect(end.kind == .ended && end.text == "Nobody has used the code in time.")
      try await messenger.write("/pair \(offer.code)")
      #expect(await messenger.notices.next() == "That code has expired. Ask for another.")
      #expect(desk.active.isEmpty)
    }
  }

  @Test func `a terminal that does not answer for 30 s admits nobody, and the code may be sent again`() async throws {
    try await run { desk, messenger in
      let offer = try await begin(desk)
      try await messenger.write("/pair \(offer.code)")
      #expect(try await desk.step(of: offer.pairing).kind == .asked)
      #expect(await messenger.notices.next()?.hasPrefix("The code is right.") == true)
      try await messenger.write("/pair \(offer.code)", by: "bob", in: "d")
      #expect(
        await messenger.notices.next() == "Somebody else has sent that code, and waits for the confirmation.")
      await clock.sleepers(2)
      clock.advance(by: .seconds(30))
      #expect(await messenger.notices.next()?.hasPrefix("Nobody has confirmed it") == true)
      let late = await #expect(throws: WireError.self) { try await desk.decide(.once, on: offer.pairing) }
      #expect(late?.message.hasPrefix("nobody waits for this confirmation any more") == true)
      #expect(desk.active.isEmpty)
      try await messenger.write("/pair \(offer.code)", by: "bob", in: "d")
      #expect(try await desk.step(of: offer.pairing).text.hasPrefix("Bob (bob on fake/default)"))
      _ = try await desk.decide(.once, on: offer.pairing)
      #expect(desk.active.map(\.person) == ["bob"])
    }
  }

  @Test func `after five wrong codes a person's right one is not looked at for a minute, another's is`() async throws {
    try await run { desk, messenger in
      let offer = try await begin(desk)
      for _ in 1...5 {
        try await messenger.write("/pair no-code")
        #expect(await messenger.notices.next()?.hasPrefix("There is no such code.") == true)
      }
      try await messenger.write("/pair \(offer.code)")
      #expect(await messenger.notices.next() == "Too many wrong codes. Try again in a minute.")
      try await messenger.write("/pair \(offer.code)", by: "bob", in: "d")
      #expect(await messenger.notices.next()?.hasPrefix("The code is right.") == true)
      #expect(try await desk.step(of: offer.pairing).text.hasPrefix("Bob"))
      _ = try await desk.decide(.deny, on: offer.pairing)
      #expect(await messenger.notices.next()?.contains("has refused the pairing") == true)
      clock.advance(by: .seconds(60))
      let next = try await begin(desk)
      try await messenger.write("/pair \(next.code)")
      #expect(await messenger.notices.next()?.hasPrefix("The code is right.") == true)
    }
  }

  @Test func `people who guess in turns make the code void, and are throttled together`() async throws {
    try await run { desk, messenger in
      func guess(_ people: ClosedRange<Int>, times: Int) async throws {
        for person in people {
          for _ in 0..<times {
            try await messenger.write("/pair no-code", by: "p\(person)", in: "d\(person)")
            #expect(await messenger.notices.next()?.hasPrefix("There is no such code.") == true)
          }
        }
      }
      let offer = try await begin(desk)
      try await guess(1...5, times: 2)
      let end = try await desk.step(of: offer.pairing)
      #expect(end.kind == .ended && end.text.hasPrefix("Too many wrong codes were sent"))
      try await messenger.write("/pair \(offer.code)")
      #expect(await messenger.notices.next() == "That code has expired. Ask for another.")
      try await guess(6...8, times: 3)
      let next = try await begin(desk)
      // This person has guessed three times only; with the others that makes twenty.
      try await messenger.write("/pair \(next.code)", by: "p8", in: "d8")
      #expect(await messenger.notices.next() == "Too many wrong codes. Try again in a minute.")
      clock.advance(by: .seconds(60))
      try await messenger.write("/pair \(next.code)", by: "p8", in: "d8")
      #expect(await messenger.notices.next()?.hasPrefix("The code is right.") == true)
    }
  }
}
