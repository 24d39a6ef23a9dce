import Testing

@testable import Conversations

@Suite struct SnapshotGateTests {
  @Test(arguments: [false, true], [false, true])
  func `a snapshot needs an idle conversation`(isAwaited: Bool, isEmpty: Bool) {
    #expect(SnapshotGate().isQuiet(isAwaited: isAwaited, isEmpty: isEmpty) == isAwaited)
  }

  @Test func `an end that is being stored postpones the snapshot`() {
    var gate = SnapshotGate()
    gate.endBegan()
    #expect(!gate.isQuiet(isAwaited: true, isEmpty: true))
    gate.endFinished()
    #expect(gate.isQuiet(isAwaited: true, isEmpty: true))
  }

  @Test(arguments: [false, true])
  func `a closed gate holds items; a held timer alone does not postpone a snapshot`(isTimer: Bool) async {
    var gate = SnapshotGate()
    #expect(gate.holds(timer: isTimer) == false)
    gate.close()
    #expect(gate.holds(timer: isTimer) == true)
    #expect(gate.isQuiet(isAwaited: false, isEmpty: true) == isTimer)
    #expect(!gate.isQuiet(isAwaited: false, isEmpty: false))
    await withCheckedContinuation { continuation in
      gate.wait(continuation)
      gate.open()
    }
    gate.passed()
    #expect(gate.holds(timer: isTimer) == false)
    #expect(gate.isQuiet(isAwaited: true, isEmpty: true))
    // Opened before anybody waits.
    await withCheckedContinuation { gate.wait($0) }
  }
}
