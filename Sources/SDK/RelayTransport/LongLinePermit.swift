internal import DequeModule
internal import RelayConcurrency

/// Lets one reader at a time gather a long line, so that many streams together hold no more than one of them.
///
/// A reader that waits leaves the bytes in its pipe. A line that stops in the middle while others wait is given up: a
/// writer that hangs holds up nobody for longer than `patience`.
package final class LongLinePermit: Sendable {
  /// Bytes of an unfinished line that any reader may hold without a permit.
  package static let freeLength = 1 << 20
  /// How long a line may stand still while another waits.
  package static let patience: Duration = .seconds(10)

  package static let shared = LongLinePermit()

  /// The readers that share the permit; each is called on any thread.
  protocol Reader: AnyObject, Sendable {
    /// This reader has the permit now.
    func continueReading()
    /// The permit is lost, and the line with it.
    func loseLine()
  }

  private struct State {
    var holder: (any Reader)?
    var waiting: Deque<any Reader> = []
    /// Indicates that the holder has read since this was last looked at.
    var hasMoved = false
  }

  private let state = Locked(State())
  private let limits: Locked<TimeLimits<Int>?> = Locked(nil)

  package init(clock: any Clock<Duration> = LoopClock.shared) {
    limits.withLock { limits in
      limits = TimeLimits(clock: clock) { [weak self] _ in self?.losePatience() }
    }
  }

  /// Reports whether the reader may continue; if not, the reader is called when it may.
  func acquire(_ reader: any Reader) -> Bool {
    let (isTaken, mustWatch) = state.withLock { state in
      if state.holder === reader {
        state.hasMoved = true
        return (true, false)
      }
      guard state.holder != nil else {
        state.holder = reader
        state.hasMoved = true
        return (true, false)
      }
      state.waiting.append(reader)
      guard state.waiting.count == 1 else { return (false, false) }
      state.hasMoved = false
      return (false, true)
    }
    if mustWatch { watch() }
    return isTaken
  }

  /// The reader needs no permit any more, whether it had one or waited.
  func release(_ reader: any Reader) {
    let next = state.withLock { state in
      state.waiting.removeAll { $0 === reader }
      guard state.holder === reader else { return nil as (any Reader)? }
      state.holder = state.waiting.popFirst()
      return state.holder
    }
    next?.continueReading()
  }

  private func watch() {
    limits.withLock { $0 }?.add(0, within: Self.patience)
  }

  private func losePatience() {
    let (loser, next) = state.withLock { state in
      let hasMoved = state.hasMoved
      state.hasMoved = false
      guard !hasMoved, !state.waiting.isEmpty else { return (nil, nil) as ((any Reader)?, (any Reader)?) }
      let loser = state.holder
      state.holder = state.waiting.popFirst()
      return (loser, state.holder)
    }
    loser?.loseLine()
    next?.continueReading()
    if state.withLock({ !$0.waiting.isEmpty }) { watch() }
  }
}
