import RelayConcurrency
import TestSupport
import Testing

@Suite struct TimeLimitsTests {
  /// The requests that have expired, as it happens.
  private final class Expired: Sendable {
    let box = Mailbox<Int>()
    func next(_ count: Int) async -> Set<Int> {
      var ids: Set<Int> = []
      for _ in 0..<count { if let id = await box.next() { ids.insert(id) } }
      return ids
    }
  }

  @Test func `each limit passes at its own time, whatever the order they were set in`() async {
    let clock = ManualClock()
    let expired = Expired()
    let limits = TimeLimits<Int>(clock: clock) { expired.box.post($0) }
    limits.add(30, within: .seconds(30))
    limits.add(10, within: .seconds(10))
    limits.add(20, within: .seconds(20))
    for id in [10, 20, 30] {
      await clock.sleepers(1)
      clock.advance(by: .seconds(10))
      #expect(await expired.next(1) == [id])
    }
    #expect(expired.box.isEmpty)
  }

  @Test func `a removed limit never passes, and later ones still do`() async {
    let clock = ManualClock()
    let expired = Expired()
    let limits = TimeLimits<Int>(clock: clock) { expired.box.post($0) }
    limits.add(1, within: .seconds(10))
    await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    limits.remove(1)
    limits.add(2, within: .seconds(10))
    clock.advance(by: .seconds(5))
    await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    #expect(await expired.next(1) == [2])
    #expect(expired.box.isEmpty)
  }

  @Test func `many limits need one sleeping task`() async {
    let clock = ManualClock()
    let expired = Expired()
    let limits = TimeLimits<Int>(clock: clock) { expired.box.post($0) }
    for id in 0..<1_000 { limits.add(id, within: .seconds(30)) }
    await clock.sleepers(1)
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(30))
    #expect(await expired.next(1_000).count == 1_000)
  }

  @Test func `a cancelled set passes no limit`() async {
    let clock = ManualClock()
    let limits = TimeLimits<Int>(clock: clock) { Issue.record("\($0) expired") }
    limits.add(1, within: .seconds(1))
    await clock.sleepers(1)
    limits.cancel()
    limits.add(2, within: .seconds(1))
    clock.advance(by: .seconds(5))
    #expect(clock.sleeperCount == 0)
  }
}
