internal import RelayConcurrency

/// Lines that come from many tasks.
package final class Lines: Sendable {
  private struct State {
    var lines: [String] = []
    var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextListener = 0
  }

  private let state = Locked(State())

  package init() {}

  package func add(_ line: String) {
    state.withLock { state in
      state.lines.append(line)
      for listener in state.listeners.values { listener.yield() }
    }
  }

  package var all: [String] { state.withLock { $0.lines } }

  package var text: String { all.joined(separator: "\n") }

  /// Waits until something holds of the lines, or the caller is cancelled; checked at each new line.
  package func wait(until condition: ([String]) -> Bool) async {
    let (changes, listener) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = listener
      return state.nextListener
    }
    defer { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
    if condition(all) { return }
    for await _ in changes where condition(all) { return }
  }
}
