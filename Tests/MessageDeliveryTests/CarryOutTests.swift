import RelayConcurrency
import RelayConfig
import RelayModel
import RelayStore
import TestSupport
import Testing

@testable import MessageDelivery

@Suite struct CarryOutTests {
  private func delivery(_ folder: TemporaryFolder) throws -> Delivery {
    Delivery(
      conversation: ConversationKey(instance: "i", conversation: "c"), holder: LinkHolder(),
      store: try SQLiteStore(path: "\(folder.path)/store"), timekeeper: Timekeeper(clock: ImpatientClock()),
      settings: Config.DeliverySettings(), log: { _ in })
  }

  /// Carries out an attempt whose tries are answered like this.
  private func carryOut(_ answers: [DeliveryAttempt.Answer?], mayWait: Bool) async throws -> Delivery.End {
    let folder = try TemporaryFolder()
    let delivery = try delivery(folder)
    var answers = answers[...]
    let end = await delivery.carryOut(delivery.attempt(), mayWait: mayWait) { _ in answers.removeFirst() }
    #expect(answers.isEmpty)
    return end
  }

  @Test func `a growing change is given back to be tried later, but not while it may crash its messenger`() async throws
  {
    let wait = DeliveryAttempt.backoff.first
    #expect(try await carryOut([.notDelivered], mayWait: false) == .postponed(wait))
    #expect(try await carryOut([.delayed(.seconds(9))], mayWait: false) == .postponed(.seconds(9)))
    #expect(try await carryOut([.connectionLost, .timedOut], mayWait: false) == .gaveUp(.crashes(2)))
    #expect(
      try await carryOut([.connectionLost, .notDelivered, .delivered()], mayWait: false)
        == .succeeded(message: nil, mayBeRepeat: false))
  }

  @Test func `any other change is tried until it ends or the daemon does`() async throws {
    #expect(
      try await carryOut([.notDelivered, .delayed(.seconds(9)), .delivered(message: "m")], mayWait: true)
        == .succeeded(message: "m", mayBeRepeat: false))
    #expect(try await carryOut([.notDelivered, .gone("why")], mayWait: true) == .gaveUp(.gone("why")))
    #expect(try await carryOut([.notDelivered, nil], mayWait: true) == .interrupted)
  }
}

/// A clock on which every sleep is over at once.
private struct ImpatientClock: Clock {
  var now: ContinuousClock.Instant { .now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
  }
}
