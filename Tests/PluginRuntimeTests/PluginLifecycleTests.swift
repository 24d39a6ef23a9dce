import ProcessSupervision
import RelayModel
import Testing

@testable import PluginRuntime

/// Every state, and every event that makes a difference.
enum PluginLifecycleSpace {
  typealias Lifecycle = PluginLifecycle

  static let generation = 1
  static let failure = Lifecycle.Event.ended(.failed("it ended", worked: false), random: 0, generation)

  /// A way to each state, by events alone.
  static let ways: [(name: String, isAdopted: Bool, events: [Lifecycle.Event])] = [
    ("starting", false, []),
    ("backoff", false, [failure]),
    ("held back", false, [.heldBack(Backoff(failures: 4, wait: .seconds(9)), generation)]),
    ("misconfigured", false, [.ended(.misconfigured("token is missing"), random: 0, generation)]),
    ("unconfigured", false, [.ended(.unconfigured("token is missing"), random: 0, generation)]),
    ("adopting", true, []),
    ("adopting, replaced", true, [.restart]),
    ("adopting, stopped", true, [.stop]),
    ("handshaking", false, [.spawned(generation)]),
    ("running", false, [.spawned(generation), .connected(generation)]),
    ("stopping, replaced", false, [.spawned(generation), .connected(generation), .restart]),
    ("stopping, stopped", false, [.spawned(generation), .connected(generation), .stop]),
    ("stopping, idle", false, [.spawned(generation), .connected(generation), .idle(generation)]),
    ("asleep", false, [.spawned(generation), .connected(generation), .idle(generation), failure]),
    ("stopped", false, [.stop]),
  ]

  static func events(_ generation: Int) -> [Lifecycle.Event] {
    [
      .restart, .stop, .heldBack(Backoff(failures: 3, wait: .seconds(7)), generation), .due(generation),
      .needed(generation), .spawned(generation), .connected(generation), .idle(generation),
      .ended(.failed("it ended", worked: false), random: 0, generation),
      .ended(.failed("it ended", worked: true), random: 0, generation),
      .ended(.misconfigured("token is missing"), random: 0, generation),
      .ended(.unconfigured("token is missing"), random: 0, generation),
    ]
  }

  static func lifecycle(_ way: String) throws -> Lifecycle {
    let (_, isAdopted, events) = try #require(ways.first { $0.name == way })
    var lifecycle =
      isAdopted
      ? Lifecycle(adopting: nil, restarts: 2, policy: RestartPolicy(), at: .zero)
      : Lifecycle(policy: RestartPolicy(), at: .zero)
    for event in events { _ = lifecycle.handle(event, at: .zero) }
    return lifecycle
  }
}

@Suite struct PluginLifecycleTests {
  typealias Lifecycle = PluginLifecycle

  /// The expected state after an event, written down independently of the machine.
  private func expected(after event: Lifecycle.Event, in before: Lifecycle.State) -> (String, [String]) {
    switch (before, event) {
    case (.stopped, _): return ("stopped", [])
    case (.stopping(.stopped), .ended), (.starting(.adopted(ending: .stopped)), .ended): return ("stopped", [])
    case (.stopping(.stopped), _): return ("stopping (stopped)", [])
    case (.starting(.adopted(ending: .stopped)), .connected): return ("stopping (stopped)", ["end(stopped)"])
    case (.starting(.adopted(ending: .stopped)), _): return ("adopting (stopped)", [])

    case (.backoff, .stop), (.asleep, .stop): return ("stopped", ["wake"])
    case (.starting(.fresh), .stop): return ("stopped", [])
    case (.starting(.adopted), .stop): return ("adopting (stopped)", [])
    case (.handshaking, .stop), (.running, .stop): return ("stopping (stopped)", ["end(stopped)"])
    case (.stopping, .stop): return ("stopping (stopped)", [])

    case (.backoff, .restart), (.asleep, .restart): return ("starting", ["wake"])
    case (.starting(.fresh), .restart): return ("starting", [])
    case (.starting(.adopted), .restart): return ("adopting (replaced)", [])
    case (.handshaking, .restart), (.running, .restart): return ("stopping (replaced)", ["end(replaced)"])
    case (.stopping, .restart): return ("stopping (replaced)", [])

    case (.starting(.fresh), .heldBack): return ("backoff", [])
    case (.backoff, .due), (.asleep, .needed): return ("starting", [])
    case (.starting(.fresh), .spawned): return ("handshaking", [])
    case (.handshaking, .connected), (.starting(.adopted(ending: nil)), .connected): return ("running", [])
    case (.starting(.adopted(ending: .replaced)), .connected): return ("stopping (replaced)", ["end(replaced)"])
    case (.running, .idle): return ("stopping (idle)", ["end(idle)"])

    case (.stopping(.replaced), .ended), (.starting(.adopted(ending: .replaced)), .ended): return ("starting", [])
    case (.stopping(.idle), .ended): return ("asleep", [])
    case (.starting, .ended(.failed, _, _)), (.handshaking, .ended(.failed, _, _)), (.running, .ended(.failed, _, _)):
      return ("backoff", ["save"])
    case (.starting, .ended), (.handshaking, .ended), (.running, .ended): return ("backoff", [])
    default: return (before.description, [])
    }
  }

  private static func names(_ actions: [Lifecycle.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .wake: "wake"
      case .end(let reason): "end(\(reason))"
      case .saveBackoff: "save"
      }
    }
  }

  @Test(arguments: PluginLifecycleSpace.ways.map(\.name))
  func `every event leads to a state as the table says`(way: String) throws {
    let before = try PluginLifecycleSpace.lifecycle(way)
    for event in PluginLifecycleSpace.events(before.generation) {
      var after = before
      var actions = Self.names(after.handle(event, at: .seconds(1)))
      let (state, wanted) = expected(after: event, in: before.state)
      // Earlier failures are forgotten, where there are any, before anything else is done.
      if event == .restart, wanted != ["save"], actions.first == "save" { actions.removeFirst() }
      #expect(after.state.description == state, "\(way): \(event)")
      #expect(actions == wanted, "\(way): \(event)")
      if case .starting(.fresh) = after.state, before.state != after.state {
        #expect(after.generation == before.generation + 1, "\(way): \(event)")
      }
    }
  }

  @Test(arguments: PluginLifecycleSpace.ways.map(\.name))
  func `events of another process are ignored`(way: String) throws {
    let before = try PluginLifecycleSpace.lifecycle(way)
    for number in [before.generation - 1, before.generation + 1] {
      for event in PluginLifecycleSpace.events(number) where event.generation != nil {
        var after = before
        #expect(after.handle(event, at: .seconds(1)) == [], "\(way): \(event)")
        #expect(after == before, "\(way): \(event)")
      }
    }
  }

  @Test func `the first failure restarts at once, later ones wait longer, and five in a minute are failing`() {
    var lifecycle = Lifecycle(policy: RestartPolicy(), at: .zero)
    var delays: [Duration] = []
    var saved: [Backoff?] = []
    for _ in 0..<5 {
      let number = lifecycle.generation
      let actions = lifecycle.handle(.ended(.failed("it ended", worked: false), random: 0.5, number), at: .seconds(1))
      for case .saveBackoff(let backoff) in actions { saved.append(backoff) }
      if case .backoff(let pause) = lifecycle.state { delays.append((pause.until ?? .zero) - .seconds(1)) }
      if saved.count == 5 { #expect(lifecycle.reported(isConnected: false) == .failing) }
      _ = lifecycle.handle(.due(number), at: .seconds(1))
    }
    #expect(delays.first == .zero && delays == delays.sorted() && delays.last == RestartPolicy().maximumDelay)
    #expect(saved.map { $0?.failures } == [nil, 2, 3, 4, 5])
    #expect(lifecycle.restarts == 5)
  }

  @Test func `a restart on request forgets earlier failures, and the next daemon does not hold back`() throws {
    var lifecycle = try PluginLifecycleSpace.lifecycle("held back")
    #expect(lifecycle.problem == "it failed 4 times before pi-relayd was started")
    #expect(lifecycle.handle(.restart, at: .seconds(1)) == [.saveBackoff(nil), .wake])
    #expect(lifecycle.problem == nil && lifecycle.reported(isConnected: false) == .starting)
  }

  @Test func `a service that worked and sleeps starts without earlier failures`() {
    for worked in [false, true] {
      var lifecycle = Lifecycle(policy: RestartPolicy(), at: .zero)
      _ = lifecycle.handle(PluginLifecycleSpace.failure, at: .zero)
      _ = lifecycle.handle(.due(1), at: .zero)
      for event in [Lifecycle.Event.spawned(2), .connected(2), .idle(2)] { _ = lifecycle.handle(event, at: .zero) }
      let actions = lifecycle.handle(.ended(.failed("it ended", worked: worked), random: 0, 2), at: .seconds(20))
      #expect(actions == (worked ? [.saveBackoff(nil)] : []))
      #expect(lifecycle.state == .asleep)
    }
  }

  @Test func `a process that is being stopped is shown as before, and the time in a state continues`() throws {
    let running = try PluginLifecycleSpace.lifecycle("running")
    var lifecycle = running
    _ = lifecycle.handle(.restart, at: .seconds(30))
    #expect(lifecycle.reported(isConnected: true) == .running && lifecycle.since == running.since)
    _ = lifecycle.handle(.ended(.failed("it ended", worked: true), random: 0, 1), at: .seconds(31))
    #expect(lifecycle.reported(isConnected: false) == .starting && lifecycle.since == .seconds(31))
  }

  @Test func `the next program gets earlier failures until the plugin has been healthy for a while`() {
    var lifecycle = Lifecycle(policy: RestartPolicy(), at: .zero)
    _ = lifecycle.handle(PluginLifecycleSpace.failure, at: .seconds(10))
    _ = lifecycle.handle(.due(1), at: .seconds(10))
    _ = lifecycle.handle(.spawned(2), at: .seconds(10))
    _ = lifecycle.handle(.connected(2), at: .seconds(11))
    #expect(lifecycle.historyForHandover(at: .seconds(20))?.recent == [.seconds(10)])
    #expect(lifecycle.historyForHandover(at: .seconds(80)) == nil)
  }
}
