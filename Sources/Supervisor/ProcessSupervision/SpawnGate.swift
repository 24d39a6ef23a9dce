internal import RelayConcurrency

/// Closed while this process may become another program, which would not know of a child that is started meanwhile.
package final class SpawnGate: Sendable {
  private struct State {
    var isOpen = true
    var waiting: [@Sendable () -> Void] = []
  }

  package static let shared = SpawnGate()

  private let state = Locked(State())

  var isOpen: Bool { state.withLock { $0.isOpen } }

  package func close() { state.withLock { $0.isOpen = false } }

  package func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter() }
  }

  /// Returns when the gate is open. It is closed for less than a tenth of a second at a time.
  package func wait() async {
    await withCheckedContinuation { continuation in whenOpen { continuation.resume() } }
  }

  /// Calls back when the gate is open, at once if it is.
  func whenOpen(_ body: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiting.append(body) }
      return state.isOpen
    }
    if isOpen { body() }
  }
}
