package import PiRPC
package import RelayStore

/// What all sessions share.
package struct SessionSurroundings: Sendable {
  package var folders: Folders
  package var guardian: Guardian?
  package var environment: [String: String]
  package var store: any Store
  package var timekeeper: Timekeeper
  package var logLimits: LogFile.Limits
  package var places: SessionPlaces
  package var agents: AgentChoice
  package var prepare: @Sendable (Prompt) async -> PreparedPrompt
  package var log: @Sendable (String) -> Void
  /// A person's words as they are repeated to people: one line of so many characters, looked through before it is cut.
  package var quote: @Sendable (_ words: String, _ limit: Int) -> String = { SafeText.line($0, limit: $1) }
  /// Environment variables that agents must not see.
  package var secretVariables: @Sendable () -> Set<String> = { [] }
}

/// A message with its attachments turned into what a model takes.
package struct PreparedPrompt: Sendable, Equatable {
  package var text: String
  package var images: [PiImage]

  package init(text: String, images: [PiImage]) {
    self.text = text
    self.images = images
  }
}

/// Finds the agent once, when the first session needs it, and again after `forget`.
package actor AgentChoice {
  private let probe: AgentProbe
  private var search: Task<AgentProgram, any Error>?

  /// The agent as last found, in words.
  package private(set) var known: String?

  package init(probe: AgentProbe) {
    self.probe = probe
  }

  package func program() async throws -> AgentProgram {
    if let search {
      do { return try await search.value } catch { self.search = nil }
    }
    let search = Task { [probe] in try await probe.find() }
    self.search = search
    let program = try await search.value
    known = program.path + (program.version.map { " \($0)" } ?? "") + (program.demoReason.map { " (\($0))" } ?? "")
    return program
  }

  /// Looks again next time: something may have been installed.
  package func forget() {
    search = nil
  }
}

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
