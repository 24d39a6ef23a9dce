import Testing

@testable import MessengerKit

@Suite struct ReconnectionTests {
  private let routine = ConnectionEnding("it ends at once", grace: .seconds(60))

  @Test func `waits grow while a server refuses, and a good connection resets them`() {
    var reconnection = Reconnection(now: .zero, pauseAfterRefusal: .seconds(600))
    func next(_ lasted: Duration?, random: Double) -> Duration {
      reconnection.next(after: routine, lasted: lasted, now: .zero, random: random).pause
    }
    let longest = (0..<10).map { next(.seconds(1), random: $0 == 0 ? 1 : 0) }
    #expect(longest.first == .milliseconds(500))
    #expect(longest.dropFirst() == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { Duration.seconds($0) }[...])
    #expect(next(.seconds(1), random: 1) == .seconds(30))
    #expect(next(Reconnection.goodAfter, random: 0) == .zero)
    #expect(next(nil, random: 1) == .milliseconds(500))
  }

  @Test func `the pause that the service asks for is kept, and shortens no other`() {
    var reconnection = Reconnection(now: .zero, pauseAfterRefusal: .seconds(600))
    let asked = ConnectionEnding("busy", minimumPause: .seconds(3))
    let pauses = (0..<5).map { _ in reconnection.next(after: asked, lasted: nil, now: .zero, random: 0).pause }
    #expect(pauses == [3, 3, 3, 4, 8].map { .seconds($0) })
  }

  @Test func `an obstacle is told at once, and an ending with grace once the service has been of no use for so long`() {
    var reconnection = Reconnection(now: .seconds(100), pauseAfterRefusal: .seconds(600))
    func report(_ ending: ConnectionEnding, lasted: Duration? = nil, at now: Int) -> Reconnection.Report {
      reconnection.next(after: ending, lasted: lasted, now: .seconds(now), random: 0).report
    }
    #expect(report(ConnectionEnding("no route"), at: 101) == .problem("no route"))
    #expect(report(routine, at: 159) == .nothing)
    #expect(report(routine, at: 160) == .problem("it ends at once"))
    // It was of use until now.
    #expect(report(routine, lasted: .seconds(1), at: 300) == .nothing)
    #expect(report(routine, at: 359) == .nothing)
    #expect(report(routine, at: 360) == .problem("it ends at once"))
  }

  @Test func `a refusal is told whatever its grace, and pauses for as long as the messenger says`() {
    var reconnection = Reconnection(now: .zero, pauseAfterRefusal: .seconds(3_600))
    let refusal = ConnectionEnding("the password is wrong", isRefusal: true, grace: .seconds(60))
    let step = reconnection.next(after: refusal, lasted: nil, now: .zero, random: 1)
    #expect(step.pause == .seconds(3_600) && step.report == .refusal("the password is wrong"))
    // It is no sign that the service is overloaded.
    #expect(reconnection.next(after: routine, lasted: nil, now: .zero, random: 0).pause == .zero)
  }
}
