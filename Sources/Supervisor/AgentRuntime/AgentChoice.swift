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
