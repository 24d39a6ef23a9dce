internal import CLinux
internal import Glibc
package import RelayConcurrency

/// The time that passes while the machine is awake, with sleeps that leave nothing behind when they are cancelled. A
/// cancelled sleep of the standard library stays in memory until its time comes, and each deadline that is kept leaves
/// one.
///
/// All sleepers share one timer, and wake on the thread of the loop that reads pipes.
package final class LoopClock: Clock, Sendable {
  package struct Instant: InstantProtocol {
    /// Since the machine was started.
    fileprivate var time: Duration

    package func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
    package func duration(to other: Instant) -> Duration { other.time - time }
    package static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
  }

  private struct Sleeper {
    var deadline: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var next: UInt64 = 0
    var sleepers: [UInt64: Sleeper] = [:]
    /// Before they fell asleep.
    var cancelled: Set<UInt64> = []
    /// The time of the timer. A cancelled sleeper does not set it again, so that it may fire once without effect.
    var alarm: Duration?
  }

  package static let shared = LoopClock()

  private let timer: Int32
  private let state = Locked(State())

  private init() {
    timer = relay_timer_descriptor()
    precondition(timer >= 0, "the system refused a timer: \(SystemError.reason())")
    do {
      _ = try EventLoop.shared.watch(timer, .read) { [self] _ in ring() }
    } catch {
      preconditionFailure("the timer cannot be waited for: \(error)")
    }
  }

  package var now: Instant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(time: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
  }

  package var minimumResolution: Duration { .nanoseconds(1) }

  package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  package func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let number = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(number) != nil { return true }
          state.sleepers[number] = Sleeper(deadline: deadline.time, continuation: continuation)
          set(for: deadline.time, &state)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: number)
        if sleeper == nil { state.cancelled.insert(number) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
    // Woken and cancelled at the same time: the note about a sleep that never began is removed.
    state.withLock { _ = $0.cancelled.remove(number) }
  }

  private func set(for deadline: Duration, _ state: inout State) {
    if let alarm = state.alarm, alarm <= deadline { return }
    state.alarm = deadline
    let (seconds, attoseconds) = deadline.components
    relay_timer_set(timer, seconds, Int(attoseconds / 1_000_000_000))
  }

  private func ring() {
    var count: UInt64 = 0
    _ = read(timer, &count, 8)
    let time = now.time
    let due = state.withLock { state in
      let due = state.sleepers.filter { $0.value.deadline <= time }
      for number in due.keys { state.sleepers[number] = nil }
      state.alarm = nil
      if let next = state.sleepers.values.lazy.map(\.deadline).min() { set(for: next, &state) }
      return due.values.sorted { $0.deadline < $1.deadline }
    }
    for sleeper in due { sleeper.continuation.resume() }
  }
}

extension TimeSource {
  /// Stops while the machine is suspended: nobody is late because the lid was closed.
  package static let system = TimeSource(clock: LoopClock.shared)
}
