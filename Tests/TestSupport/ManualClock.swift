import RelayConcurrency

/// A clock that moves only when the test moves it.
public final class ManualClock: Clock, Sendable {
  /// A moment of the clock, as the time since the clock was made.
  public struct Instant: InstantProtocol {
    var offset: Duration
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    var deadline: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now: Duration = .zero
    var next = 0
    var sleepers: [Int: Sleeper] = [:]
    var cancelled: Set<Int> = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())

  public init() {}

  public var now: Instant { Instant(offset: elapsed) }
  /// The time that the test has let pass.
  public var elapsed: Duration { state.withLock { $0.now } }
  /// Tasks that sleep on the clock now.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }
  public var minimumResolution: Duration { .nanoseconds(1) }

  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enum Entry { case asleep([CheckedContinuation<Void, Never>]), over, cancelled }
        let entry: Entry = state.withLock { state in
          if state.cancelled.remove(number) != nil { return .cancelled }
          if deadline.offset <= state.now { return .over }
          state.sleepers[number] = Sleeper(deadline: deadline.offset, continuation: continuation)
          let ready = state.watchers.filter { $0.count <= state.sleepers.count }
          state.watchers.removeAll { $0.count <= state.sleepers.count }
          return .asleep(ready.map(\.continuation))
        }
        switch entry {
        case .asleep(let watchers): for watcher in watchers { watcher.resume() }
        case .over: continuation.resume()
        case .cancelled: continuation.resume(throwing: CancellationError())
        }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        if let sleeper = state.sleepers.removeValue(forKey: number) { return Optional(sleeper) }
        state.cancelled.insert(number)
        return nil
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Waits until this many tasks sleep on the clock.
  public func sleepers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if ready { continuation.resume() }
    }
  }

  /// Moves the clock, and wakes the tasks whose time has come, in the order of their deadlines.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.sorted { $0.deadline < $1.deadline }
    }
    for sleeper in due { sleeper.continuation.resume() }
  }
}
