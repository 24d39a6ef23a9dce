/// The moment at which a snapshot for the next program may be taken: nothing waits, and nothing is being shown.
struct SnapshotGate {
  private enum Held { case nothing, timer, output }

  private var isClosed = false
  /// The item that arrived while the gate is closed.
  private var held = Held.nothing
  private var waiting: CheckedContinuation<Void, Never>?
  /// Ends of messages that are on their way to the disk.
  private var ends = 0

  /// - Parameters:
  ///   - isAwaited: the queue is empty, and the last item is done.
  ///   - isEmpty: the queue is empty.
  func isQuiet(isAwaited: Bool, isEmpty: Bool) -> Bool {
    guard ends == 0 else { return false }
    return switch held {
    case .nothing: isAwaited
    // A timer only shows that time passes; the next program has its own.
    case .timer: isEmpty
    case .output: false
    }
  }

  mutating func close() { isClosed = true }

  /// - Returns: true when the item must wait for `open`.
  mutating func holds(timer isTimer: Bool) -> Bool {
    guard isClosed else { return false }
    held = isTimer ? .timer : .output
    return true
  }

  mutating func wait(_ continuation: CheckedContinuation<Void, Never>) {
    guard isClosed else { return continuation.resume() }
    waiting = continuation
  }

  mutating func open() {
    isClosed = false
    waiting?.resume()
    waiting = nil
  }

  mutating func passed() { held = .nothing }

  mutating func endBegan() { ends += 1 }
  mutating func endFinished() { ends -= 1 }
}
