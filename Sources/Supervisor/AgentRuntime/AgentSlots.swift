/// Limits how many agents run, and how many start at once.
package actor AgentSlots {
  private let maximum: Int
  private let maximumStarting: Int
  private var taken: Set<Int> = []
  private var next = 0
  private var starting: Set<Int> = []
  private var waiting: [SlotRequest] = []
  private var isClosed = false
  /// Asked to end an idle agent so that another can start.
  private var evict: (@Sendable () async -> Void)?

  package init(maximum: Int, maximumStarting: Int) {
    self.maximum = max(1, maximum)
    self.maximumStarting = max(1, maximumStarting)
  }

  package func whenFull(_ evict: @escaping @Sendable () async -> Void) {
    self.evict = evict
  }

  private var isFull: Bool { taken.count >= maximum }

  var startingCount: Int { starting.count }

  var waitingCount: Int { waiting.count }

  /// The next to start has to wait.
  private var hasNoRoom: Bool { isFull || starting.count >= maximumStarting }

  /// Waits for a slot to start in, unless the request is cancelled. `started` must follow, and `release` when the agent
  /// has exited.
  ///
  /// - Parameter waits: called once, when every slot is taken by an agent at work.
  /// - Throws: `AgentUnavailable` when the request is cancelled, or no agent may start any more.
  package func enter(_ request: SlotRequest, waits: @Sendable () -> Void = {}) async throws -> AgentSlot {
    var hasTold = false
    while !isClosed, hasNoRoom, !request.isCancelled {
      if isFull { await evict?() }
      guard !isClosed, hasNoRoom, !request.isCancelled else { break }
      if isFull, !hasTold {
        hasTold = true
        waits()
      }
      waiting.append(request)
      await request.wait()
      waiting.removeAll { $0 === request }
    }
    if request.isCancelled {
      // The wake may have been meant for a start: the next in line has it.
      wake()
      throw AgentUnavailable(description: "stopped before an agent was free")
    }
    if isClosed { throw AgentUnavailable(description: "pi-relayd is stopping") }
    next += 1
    taken.insert(next)
    starting.insert(next)
    return AgentSlot(number: next, places: self)
  }

  /// The slot of an agent that runs already.
  package func adopt() -> AgentSlot {
    next += 1
    taken.insert(next)
    return AgentSlot(number: next, places: self)
  }

  func started(_ slot: Int) {
    if starting.remove(slot) != nil { wake() }
  }

  func ended(_ slot: Int) {
    started(slot)
    if taken.remove(slot) != nil { wake() }
  }

  /// An agent has nothing to do: it may make room for one that waits.
  package func becameIdle() {
    wake()
  }

  /// Nothing is started any more.
  package func close() {
    isClosed = true
    for request in waiting { request.wake() }
    waiting = []
  }

  private func wake() {
    guard !waiting.isEmpty else { return }
    waiting.removeFirst().wake()
  }
}
