package import PluginRuntime
internal import RelayConcurrency

/// The current connection of one messenger. Senders wait here while the messenger is away.
package final class ConnectionSlot: Sendable {
  private struct State {
    var link: PluginConnection?
    var waiting: [Int: CheckedContinuation<PluginConnection?, Never>] = [:]
    var next = 0
    var isClosed = false
  }

  private let state = Locked(State())

  package init() {}

  package func set(_ link: PluginConnection?) {
    let waiting = state.withLock { state in
      state.link = link
      guard link != nil else { return [CheckedContinuation<PluginConnection?, Never>]() }
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for waiter in waiting { waiter.resume(returning: link) }
  }

  /// Removes a connection that has ended, unless another has taken its place.
  package func clear(_ link: PluginConnection) {
    state.withLock { if $0.link === link { $0.link = nil } }
  }

  package var current: PluginConnection? { state.withLock { $0.link } }

  /// Nobody waits any more: the messenger will not be back.
  package func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for waiter in waiting { waiter.resume(returning: nil) }
  }

  /// The link, now or when it is back; nil when cancelled or closed.
  package func wait(isolation: isolated (any Actor)? = #isolation) async -> PluginConnection? {
    if let current { return current }
    let number = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    return await withTaskCancellationHandler {
      _ = isolation
      return await withCheckedContinuation { continuation in
        let ready: PluginConnection?? = state.withLock { state in
          if let link = state.link { return link }
          if Task.isCancelled || state.isClosed { return .some(nil) }
          state.waiting[number] = continuation
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: nil)
    }
  }
}
