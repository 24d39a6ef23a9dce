/// Finds the agent once, when the first session needs it, and again after `forget`.
package actor AgentResolver {
  private let probe: AgentLocator
  private var search: Task<AgentExecutable, any Error>?

  /// The agent as last found, in words.
  package private(set) var known: String?

  package init(probe: AgentLocator) {
    self.probe = probe
  }

  package func program() async throws -> AgentExecutable {
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
