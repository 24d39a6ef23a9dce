/// Limits how many agents run, and how many start at once.
package actor SessionPlaces {
  private let maximum: Int
  private let maximumStarting: Int
  private var taken: Set<Int> = []
  private var next = 0
  private var starting: Set<Int> = []
  private var waiting: [(session: String, continuation: CheckedContinuation<Void, Never>)] = []
  private var entering: Set<String> = []
  private var givenUp: Set<String> = []
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

  /// Whether the next to start has to wait.
  private var hasNoRoom: Bool { isFull || starting.count >= maximumStarting }

  /// Waits for a place to start in, unless `giveUp` is called. `started` must follow, and `ended` when the agent has; each
  /// counts once for a place, however often it is called.
  ///
  /// - Parameter waits: told once, when every place is taken by an agent at work.
  package func enter(_ session: String, waits: @Sendable () -> Void = {}) async throws -> Int {
    givenUp.remove(session)
    entering.insert(session)
    defer { entering.remove(session) }
    var hasTold = false
    while !isClosed, hasNoRoom {
      if isFull { await evict?() }
      guard !isClosed, hasNoRoom, !givenUp.contains(session) else { break }
      if isFull, !hasTold {
        hasTold = true
        waits()
      }
      await withCheckedContinuation { waiting.append((session, $0)) }
      if givenUp.contains(session) { break }
    }
    if givenUp.remove(session) != nil {
      // The wake may have been meant for a start: the next in line has it.
      wake()
      throw AgentUnavailable(description: "stopped before an agent was free")
    }
    if isClosed { throw AgentUnavailable(description: "pi-relayd is stopping") }
    next += 1
    taken.insert(next)
    starting.insert(next)
    return next
  }

  /// The place of an agent that runs already.
  package func adopt() -> Int {
    next += 1
    taken.insert(next)
    return next
  }

  /// The session no longer wants to start.
  package func giveUp(_ session: String) {
    guard entering.contains(session) else { return }
    givenUp.insert(session)
    guard let index = waiting.firstIndex(where: { $0.session == session }) else { return }
    waiting.remove(at: index).continuation.resume()
  }

  package func started(_ place: Int) {
    if starting.remove(place) != nil { wake() }
  }

  package func ended(_ place: Int) {
    started(place)
    if taken.remove(place) != nil { wake() }
  }

  /// An agent has nothing to do: it may make room for one that waits.
  package func becameIdle() {
    wake()
  }

  /// Nothing is started any more.
  package func close() {
    isClosed = true
    for waiter in waiting { waiter.continuation.resume() }
    waiting = []
  }

  private func wake() {
    guard !waiting.isEmpty else { return }
    waiting.removeFirst().continuation.resume()
  }
}
