import DequeModule

/// A queue from many senders to one receiver, in order. Posting never waits; neighbours that can be merged are, so that
/// a stream of small pieces stays one item while its receiver is busy.
package final class Mailbox<Item: Sendable>: Sendable {
  private struct State {
    var items: Deque<Item> = []
    var waiting: CheckedContinuation<Item?, Never>?
    var closed = false
  }

  private let state = Locked(State())
  private let merge: @Sendable (inout Item, Item) -> Bool

  /// - Parameter merge: takes a new item into the last waiting one; false when they must stay apart.
  package init(merge: @escaping @Sendable (inout Item, Item) -> Bool = { _, _ in false }) {
    self.merge = merge
  }

  package func post(_ item: Item) {
    let waiter: CheckedContinuation<Item?, Never>? = state.withLock { state in
      guard !state.closed else { return nil }
      if let waiting = state.waiting {
        state.waiting = nil
        return waiting
      }
      if let last = state.items.indices.last, merge(&state.items[last], item) { return nil }
      state.items.append(item)
      return nil
    }
    waiter?.resume(returning: item)
  }

  /// No more items come; those that wait are still received.
  package func close() {
    let waiter = state.withLock { state in
      state.closed = true
      defer { state.waiting = nil }
      return state.waiting
    }
    waiter?.resume(returning: nil)
  }

  /// The next item, or nil when closed and empty, or cancelled. One receiver at a time.
  package func next() async -> Item? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready: Item?? = state.withLock { state in
          if let item = state.items.popFirst() { return item }
          if state.closed || Task.isCancelled { return .some(nil) }
          state.waiting = continuation
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiting = nil }
        return state.waiting
      }
      waiter?.resume(returning: nil)
    }
  }

  /// Forgets what waits.
  package func clear() {
    state.withLock { $0.items = [] }
  }

  package var isEmpty: Bool { state.withLock { $0.items.isEmpty } }
}
