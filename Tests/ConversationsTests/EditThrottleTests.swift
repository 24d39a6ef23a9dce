import Testing

@testable import Conversations

@Suite struct EditThrottleTests {
  private let interval: Duration = .seconds(1)

  @Test func `the first text is shown at once, and later text at the platform's pace`() {
    var throttle = EditThrottle()
    #expect(throttle.textArrived(now: .seconds(10), interval: interval) == .edit)
    throttle.editBegan(now: .seconds(10))
    let wait: Duration = .milliseconds(700)
    #expect(
      throttle.textArrived(now: .milliseconds(10_300), interval: interval) == .schedule(after: wait, number: 1))
    #expect(throttle.textArrived(now: .milliseconds(10_400), interval: interval) == .none)
    #expect(throttle.timerFired(1) == true)
    throttle.editBegan(now: .seconds(11))
    #expect(throttle.textArrived(now: .seconds(12), interval: interval) == .edit)
  }

  @Test func `a schedule that was cancelled or replaced does nothing`() {
    var throttle = EditThrottle()
    throttle.editBegan(now: .seconds(1))
    #expect(throttle.textArrived(now: .seconds(1), interval: interval) == .schedule(after: .seconds(1), number: 1))
    throttle.cancel()
    #expect(throttle.timerFired(1) == false)
    #expect(throttle.textArrived(now: .seconds(1), interval: interval) == .schedule(after: .seconds(1), number: 3))
    #expect(throttle.schedule(after: .zero) == .schedule(after: .zero, number: 4))
    #expect(throttle.timerFired(3) == false)
    #expect(throttle.timerFired(4) == true)
    #expect(throttle.timerFired(4) == false)
  }

  @Test func `the wait that the platform asks for applies to every change`() {
    var throttle = EditThrottle()
    #expect(throttle.pause(now: .seconds(5)) == .zero)
    #expect(throttle.postpone(by: .seconds(9), now: .seconds(5)) == .schedule(after: .seconds(9), number: 1))
    #expect(throttle.pause(now: .seconds(6)) == .seconds(8))
    throttle.cancel()
    #expect(throttle.textArrived(now: .seconds(6), interval: interval) == .schedule(after: .seconds(8), number: 3))
    #expect(throttle.pause(now: .seconds(14)) == .zero)
  }
}
