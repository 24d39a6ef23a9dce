public import DequeModule

/// A queue from many senders to one receiver, in order. Posting never waits; neighbours that can be merged are, so that
/// a stream of small pieces stays one item while its receiver is busy.
public final class Mailbox<Item: Sendable>: Sendable {
  // Unsafe continuations, on the path of every delta: each is taken out of the state, under its lock, before it is
  // resumed, and so resumed once.
  @usableFromInline struct State {
    @usableFromInline var items: Deque<Item> = []
    @usableFromInline var waiting: UnsafeContinuation<Item?, Never>?
    @usableFromInline var closed = false
    /// The number of items at which the mailbox is compacted next.
    @usableFromInline var full = 0
  }

  @usableFromInline let state = Locked(State())
  @usableFromInline let merge: @Sendable (inout Item, Item) -> Bool
  @usableFromInline let limit: Int
  @usableFromInline let compact: @Sendable (inout Deque<Item>) -> Void

  /// - Parameters:
  ///   - limit: items that may wait before `compact` is asked to make room; it need not succeed.
  ///   - merge: takes a new item into the last waiting one; false when they must stay apart.
  public init(
    limit: Int = .max, compact: @escaping @Sendable (inout Deque<Item>) -> Void = { _ in },
    merge: @escaping @Sendable (inout Item, Item) -> Bool = { _, _ in false }
  ) {
    self.limit = limit
    self.compact = compact
    self.merge = merge
  }

  /// False when it is closed, and the item will not be received.
  @discardableResult
  @inlinable public func post(_ item: Item) -> Bool {
    let (isTaken, waiter): (Bool, UnsafeContinuation<Item?, Never>?) = state.withLock { state in
      guard !state.closed else { return (false, nil) }
      if let waiting = state.waiting {
        state.waiting = nil
        return (true, waiting)
      }
      if let last = state.items.indices.last, merge(&state.items[last], item) { return (true, nil) }
      state.items.append(item)
      if state.items.count > max(limit, state.full) {
        compact(&state.items)
        // Items that cannot be let go are not looked at again for each item that follows.
        state.full = state.items.count > limit ? state.items.count * 2 : 0
      }
      return (true, nil)
    }
    waiter?.resume(returning: item)
    return isTaken
  }

  /// Closes the mailbox: it takes no more items, and waiting items are still received.
  @inlinable public func close() {
    let waiter = state.withLock { state in
      state.closed = true
      defer { state.waiting = nil }
      return state.waiting
    }
    waiter?.resume(returning: nil)
  }

  /// The next item, or nil when closed and empty, or cancelled. One receiver at a time.
  @inlinable public func next(isolation: isolated (any Actor)? = #isolation) async -> Item? {
    await withTaskCancellationHandler {
      // Named, so that the closure is the caller's too: otherwise each wait is a detour over another thread.
      _ = isolation
      return await withUnsafeContinuation { continuation in
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

  /// Takes all that waits.
  @discardableResult
  @inlinable public func drain() -> [Item] {
    state.withLock { state in
      defer { state.items = [] }
      return Array(state.items)
    }
  }

  /// Indicates that the receiver has taken everything and waits for more.
  @inlinable public var isAwaited: Bool { state.withLock { $0.waiting != nil } }

  /// Indicates that no item waits to be received.
  @inlinable public var isEmpty: Bool { state.withLock { $0.items.isEmpty } }
}
