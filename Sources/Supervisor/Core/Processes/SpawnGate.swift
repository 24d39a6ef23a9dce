internal import RelayPipes

/// Closed while this process may become another program, which would not know of a child that is started meanwhile.
final class SpawnGate: Sendable {
  private struct State {
    var isOpen = true
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  static let shared = SpawnGate()

  private let state = Locked(State())

  var isOpen: Bool { state.withLock { $0.isOpen } }

  func close() { state.withLock { $0.isOpen = false } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
  }

  /// Returns when the gate is open. It is closed for less than a tenth of a second at a time.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
