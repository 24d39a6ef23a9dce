import RelayModel
import Testing

@testable import SessionStates

@Suite struct AgentStateTests {
  private final class Process {}
  private typealias State = AgentState<Process, String, Int>

  /// Each event of an agent's life, with the process `one`.
  private enum Event: CaseIterable {
    case beginStart, acquired, launched, ready, launchFailed, startFailed, runStarted, runEnded, compactionBegan,
      compactionEnded, leave, exited, otherExited
  }

  private let one = Process()
  private let other = Process()

  private func states() -> [State] {
    let holder = State.Holder(process: one, slot: 1)
    return [
      .stopped, .waiting("request"), .starting(1, nil), .starting(1, one), .idle(holder), .working(holder),
      .compacting(holder), .leaving(one),
    ]
  }

  private func name(_ state: State) -> String {
    switch state {
    case .stopped: "stopped"
    case .waiting: "waiting"
    case .starting(_, nil): "starting"
    case .starting: "launched"
    case .idle: "idle"
    case .working: "working"
    case .compacting: "compacting"
    case .leaving: "leaving"
    }
  }

  private func take(_ event: Event, _ state: inout State) {
    switch event {
    case .beginStart: _ = state.beginStart("next") { _ in false }
    case .acquired: state.acquired(1)
    case .launched: state.launched(one)
    case .ready: state.ready(one)
    case .launchFailed: state.launchFailed(one)
    case .startFailed: state.startFailed()
    case .runStarted: state.runStarted()
    case .runEnded: state.runEnded()
    case .compactionBegan: state.compactionBegan()
    case .compactionEnded: state.compactionEnded()
    case .leave: _ = state.beginLeaving()
    case .exited: _ = state.exited(one)
    case .otherExited: _ = state.exited(other)
    }
  }

  /// The states, in the order of `states`, that an event leads to.
  private static let table: [(Event, [String])] = [
    (.beginStart, ["waiting", "waiting", "waiting", "launched", "idle", "working", "compacting", "waiting"]),
    (.launched, ["stopped", "waiting", "launched", "launched", "idle", "working", "compacting", "leaving"]),
    (.ready, ["stopped", "waiting", "stopped", "idle", "idle", "working", "compacting", "leaving"]),
    (.launchFailed, ["stopped", "waiting", "starting", "starting", "idle", "working", "compacting", "leaving"]),
    (.startFailed, ["stopped", "stopped", "stopped", "stopped", "idle", "working", "compacting", "leaving"]),
    (.runStarted, ["stopped", "waiting", "starting", "launched", "working", "working", "compacting", "leaving"]),
    (.runEnded, ["stopped", "waiting", "starting", "launched", "idle", "idle", "compacting", "leaving"]),
    (
      .compactionBegan,
      ["stopped", "waiting", "starting", "launched", "compacting", "compacting", "compacting", "leaving"]
    ),
    (.compactionEnded, ["stopped", "waiting", "starting", "launched", "idle", "working", "idle", "leaving"]),
    (.leave, ["stopped", "waiting", "starting", "leaving", "leaving", "leaving", "leaving", "leaving"]),
    (.exited, ["stopped", "waiting", "starting", "starting", "stopped", "stopped", "stopped", "leaving"]),
    (.otherExited, ["stopped", "waiting", "starting", "launched", "idle", "working", "compacting", "leaving"]),
  ]

  @Test func `every event leads every state to the one of the table`() {
    // A slot is acquired only by the one start that waits for it.
    #expect(Set(Self.table.map(\.0)) == Set(Event.allCases).subtracting([.acquired]))
    for (event, expected) in Self.table {
      for (state, after) in zip(states(), expected) {
        var next = state
        take(event, &next)
        #expect(name(next) == after, "\(event) while \(name(state))")
      }
    }
  }

  @Test func `a process that was told to exit is waited for before the next one starts`() {
    var state = State.idle(State.Holder(process: one, slot: 1))
    #expect(state.beginLeaving()?.slot == 1)
    // Its slot is given up once.
    #expect(state.beginLeaving() == nil && !state.exited(one))
    guard case .wait("next", let predecessor?) = state.beginStart("next", hasEnded: { _ in false }) else {
      Issue.record("it was not waited for")
      return
    }
    #expect(predecessor === one && state.request == "next" && state.process == nil)
  }

  @Test func `a process that has exited is replaced, and its late report changes nothing`() {
    var state = State.working(State.Holder(process: one, slot: 1))
    guard case .wait(_, let predecessor?) = state.beginStart("next", hasEnded: { _ in true }) else {
      Issue.record("a process that has exited was taken for a running one, or its leftovers are not waited for")
      return
    }
    #expect(predecessor === one)
    #expect(state.exited(one) == false)
    #expect(state.activity == .starting)
  }
}
