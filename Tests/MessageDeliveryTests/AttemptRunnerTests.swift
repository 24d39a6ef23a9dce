import RelayConcurrency
import RelayConfig
import RelayModel
import RelayStore
import TestSupport
import Testing

@testable import MessageDelivery

@Suite struct AttemptRunnerTests {
  /// Carries out an attempt whose tries are answered like this.
  private func carryOut(
    _ kind: DeliveryAttempt.Kind, limit: Int? = nil, _ answers: [DeliveryAttempt.Answer?]
  ) async throws -> AttemptRunner.End {
    let folder = try TemporaryFolder()
    let attempts = AttemptRunner(
      store: try SQLiteStore(path: "\(folder.path)/store"), timeSource: TimeSource(clock: ImpatientClock()),
      maximumTries: Config.DeliverySettings().attempts)
    var answers = answers[...]
    let end = await attempts.run(attempts.attempt(kind, limit: limit)) { _ in answers.removeFirst() }
    #expect(answers.isEmpty)
    return end
  }

  @Test func `a growing change is returned for a later try, except directly after a crash`() async throws {
    #expect(try await carryOut(.growth, [.notDelivered]) == .postponed(.seconds(1)))
    #expect(try await carryOut(.growth, [.delayed(.seconds(9))]) == .postponed(.seconds(9)))
    #expect(try await carryOut(.growth, [.connectionLost, .timedOut]) == .gaveUp(.crashes(2)))
    #expect(try await carryOut(.growth, [.connectionLost, .delayed(.seconds(9))]) == .postponed(.seconds(9)))
    #expect(
      try await carryOut(.growth, [.connectionLost, .delivered()]) == .succeeded(message: nil, mayBeRepeat: false))
  }

  @Test func `a deletion is tried three times, however it fails`() async throws {
    for answer in [DeliveryAttempt.Answer.connectionLost, .timedOut] {
      let answers = [answer, answer, answer]
      #expect(try await carryOut(.change, limit: 3, answers) == .gaveUp(.crashes(3)))
    }
    #expect(
      try await carryOut(.change, limit: 3, [.notDelivered, .connectionLost, .unconfirmed])
        == .gaveUp(.triesUsedUp(3)))
  }

  @Test func `another change is tried until it ends or the daemon does`() async throws {
    #expect(
      try await carryOut(.change, [.notDelivered, .delayed(.seconds(9)), .delivered(message: "m")])
        == .succeeded(message: "m", mayBeRepeat: false))
    #expect(try await carryOut(.change, [.notDelivered, .gone("why")]) == .gaveUp(.gone("why")))
    #expect(try await carryOut(.change, [.notDelivered, nil]) == .interrupted)
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
