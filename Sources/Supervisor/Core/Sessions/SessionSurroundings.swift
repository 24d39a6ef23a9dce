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
  private var starting = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []
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

  /// Waits for a place to start in. `started` must follow, and `ended` when the agent has.
  package func enter() async throws -> Int {
    while !isClosed, isFull || starting >= maximumStarting {
      if isFull { await evict?() }
      guard !isClosed, isFull || starting >= maximumStarting else { break }
      await withCheckedContinuation { waiting.append($0) }
    }
    if isClosed { throw AgentUnavailable(description: "pi-relayd is stopping") }
    next += 1
    taken.insert(next)
    starting += 1
    return next
  }

  package func started() {
    starting -= 1
    wake()
  }

  package func ended(_ place: Int) {
    if taken.remove(place) != nil { wake() }
  }

  /// An agent has nothing to do: it may make room for one that waits.
  package func becameIdle() {
    wake()
  }

  /// Nothing is started any more.
  package func close() {
    isClosed = true
    for waiter in waiting { waiter.resume() }
    waiting = []
  }

  private func wake() {
    guard !waiting.isEmpty else { return }
    waiting.removeFirst().resume()
  }
}
