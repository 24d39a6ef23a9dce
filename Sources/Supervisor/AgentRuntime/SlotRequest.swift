internal import RelayConcurrency

/// A wait for a slot. It may be cancelled at any time, also before it begins.
package final class SlotRequest: Sendable {
  private let wakes = Mailbox<Void>()
  private let hasCancelled = Locked(false)

  package init() {}

  package var isCancelled: Bool { hasCancelled.withLock { $0 } }

  package func cancel() {
    hasCancelled.withLock { $0 = true }
    wakes.close()
  }

  func wake() { wakes.post(()) }

  /// Returns after `wake` or `cancel`. A cancelled task cancels the request.
  func wait() async { if await wakes.next() == nil { cancel() } }
}

/// The right of one agent to run. Each of its methods counts once, however often it is called.
package struct AgentSlot: Sendable {
  let number: Int
  let places: AgentSlots

  /// The agent has started: the next one may begin to start.
  package func started() async { await places.started(number) }

  /// The agent has ended, or was not started.
  package func release() async { await places.ended(number) }
}
