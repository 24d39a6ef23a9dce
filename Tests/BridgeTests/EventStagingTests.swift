import Testing

@testable import Bridge

@Suite struct EventStagingTests {
  private func lines(_ bytes: Int) -> EventStaging.Arrival { .lines([UInt8](repeating: 0, count: bytes), time: 0) }

  @Test func `publishing is scheduled once, and again when all was taken`() {
    var staging = EventStaging()
    let scheduled = [staging.add(lines(1)), staging.add(lines(1))]
    let turn = staging.takeTurn()
    let isScheduledWithin = staging.add(lines(1))
    let hasMore = staging.endTurn()
    let rest = staging.takeTurn()
    let hasMoreThen = staging.endTurn()
    let isScheduledAgain = staging.add(lines(1))
    #expect(turn.arrivals.count == 2 && !isScheduledWithin && hasMore)
    #expect(scheduled == [true, false] && rest.arrivals.count == 1 && !hasMoreThen && isScheduledAgain)
  }

  @Test func `a turn takes a bounded piece, in order`() {
    var staging = EventStaging()
    for bytes in 1...4 { _ = staging.add(lines(EventStaging.bytesInOneTurn / 2 + bytes)) }
    let first = staging.takeTurn()
    let hasMore = staging.endTurn()
    #expect(hasMore && first.arrivals.map(\.bytes) == [1, 2].map { EventStaging.bytesInOneTurn / 2 + $0 })
    let second = staging.takeTurn()
    let hasMoreThen = staging.endTurn()
    #expect(!hasMoreThen && second.arrivals.count == 2)
  }

  @Test func `events beyond the limit are lost, and counted once`() {
    var staging = EventStaging()
    _ = staging.add(lines(EventStaging.maximumBytes))
    let refused = [staging.add(lines(1)), staging.add(lines(1))]
    #expect(refused == [false, false])
    let losses = [staging.takeTurn().lost, staging.takeTurn().lost]
    #expect(losses == [2, 0])
  }

  @Test func `a wait ends once, and with too many events by itself`() {
    var staging = EventStaging()
    _ = staging.add(lines(1))
    _ = staging.takeTurn()
    let first = staging.hold()
    let isScheduled = staging.add(lines(1))
    let ends = [staging.endHold(first), staging.endHold(first)]
    #expect(!isScheduled && ends == [true, false])
    let second = staging.hold()
    let isScheduledAtLimit = staging.add(lines(EventStaging.maximumHeldBytes))
    let endsLate = staging.endHold(second)
    #expect(isScheduledAtLimit && !staging.mayBeHeld && !endsLate)
  }
}
