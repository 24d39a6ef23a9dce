/// The pace at which a growing message is changed: as often as the platform likes, and not before the time that it has
/// named. A pure value: the time comes from its caller.
struct EditThrottle: Sendable, Equatable {
  enum Action: Sendable, Equatable {
    case edit
    /// Reports `timerFired` with this number after the wait.
    case schedule(after: Duration, number: Int)
    /// An earlier schedule covers it.
    case none
  }

  private var lastEdit: Duration?
  /// The end of the wait that the platform has asked for.
  private var notBefore: Duration?
  private var isScheduled = false
  /// The number of the schedule that counts; earlier ones are stale.
  private var number = 0

  /// - Parameter interval: between two changes.
  mutating func textArrived(now: Duration, interval: Duration) -> Action {
    guard !isScheduled else { return .none }
    let wait = max(lastEdit.map { $0 + interval - now } ?? .zero, pause(now: now))
    return wait > .zero ? schedule(after: wait) : .edit
  }

  /// - Returns: false for a schedule that was cancelled or replaced.
  mutating func timerFired(_ number: Int) -> Bool {
    guard isScheduled, number == self.number else { return false }
    isScheduled = false
    return true
  }

  mutating func editBegan(now: Duration) {
    isScheduled = false
    lastEdit = now
  }

  /// Plans the next change for the time that the platform has named.
  mutating func postpone(by delay: Duration, now: Duration) -> Action {
    notBefore = now + delay
    return schedule(after: delay)
  }

  /// Plans a change for the moment when the messenger can show it.
  mutating func schedule(after wait: Duration) -> Action {
    isScheduled = true
    number += 1
    return .schedule(after: wait, number: number)
  }

  /// Drops the planned change, because its text is shown now.
  mutating func cancel() {
    isScheduled = false
    number += 1
  }

  /// The rest of the wait that the platform has asked for.
  func pause(now: Duration) -> Duration { max(.zero, (notBefore ?? now) - now) }
}
