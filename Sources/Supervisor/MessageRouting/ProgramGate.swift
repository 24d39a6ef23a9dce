internal import RelayConcurrency

/// Lets the requests of programs through, except while this process hands over to another program: what a request changes
/// after the snapshots were taken would be lost.
final class ProgramGate: Sendable {
  private struct State {
    /// Requests that are being carried out.
    var inside = 0
    var isClosed = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  /// Carries out a request, once the gate is open.
  func pass<Value: Sendable, Failure: Error>(
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    while !enter() { await wait() }
    defer { state.withLock { $0.inside -= 1 } }
    return try await body()
  }

  private func enter() -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      state.inside += 1
      return true
    }
  }

  private func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if state.isClosed { state.waiting.append(continuation) }
        return !state.isClosed
      }
      if isOpen { continuation.resume() }
    }
  }

  /// - Returns: false while a request is being carried out; the gate then stays open.
  func close() -> Bool {
    state.withLock { state in
      if state.inside == 0 { state.isClosed = true }
      return state.isClosed
    }
  }

  func open() {
    let waiting = state.withLock { state in
      state.isClosed = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.resume() }
  }
}
