internal import Glibc
package import ProcessSupervision

/// The agent that sessions run: pi, or the demo agent where pi cannot be used.
package struct AgentExecutable: Codable, Sendable, Equatable {
  package var path: String
  package var version: String?
  /// It takes `--session-id`; older releases take `--session FILE`.
  package var takesSessionID: Bool
  /// It takes `--extension`; `nil` in what an earlier version has handed over.
  package var takesExtensions: Bool?
  package var isDemo: Bool
  /// Why the demo agent is used, and what to do about it.
  package var demoReason: String?

  package init(
    path: String, version: String? = nil, takesSessionID: Bool, takesExtensions: Bool?, isDemo: Bool,
    demoReason: String? = nil
  ) {
    self.path = path
    self.version = version
    self.takesSessionID = takesSessionID
    self.takesExtensions = takesExtensions
    self.isDemo = isDemo
    self.demoReason = demoReason
  }
}

package struct AgentUnavailable: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

/// Finds out which agent there is.
package struct AgentLocator: Sendable {
  package var configured: String?
  /// The setting that names it.
  package var setting = "pi.executable"
  package var demoAgent: String?
  package var environment: [String: String]
  package var guardian: Guardian?
  package var clock: any Clock<Duration>
  /// Environment variables that agents must not see.
  package var secrets: @Sendable () -> Set<String> = { [] }

  package init(
    configured: String?, demoAgent: String?, environment: [String: String], guardian: Guardian?,
    clock: any Clock<Duration>
  ) {
    self.configured = configured
    self.demoAgent = demoAgent
    self.environment = environment
    self.guardian = guardian
    self.clock = clock
  }

  /// Looks for pi and asks it what it can do; takes a second or two.
  package func find() async throws(AgentUnavailable) -> AgentExecutable {
    let name = configured ?? "pi"
    guard let path = Self.resolve(name, searchPath: environment["PATH"] ?? "") else {
      if configured != nil {
        throw AgentUnavailable(description: "\(setting) names \(name), which does not exist; correct relay.yaml")
      }
      return try demo("no pi was found on PATH; install it with: npm install -g @earendil-works/pi-coding-agent")
    }
    let help = await run(path, ["--help"])
    guard help.exit == .exited(0) else {
      var excerpt = ErrorExcerpt()
      for line in help.errors { excerpt.append(line) }
      let words = excerpt.firstError.map { ": \($0)" } ?? ""
      let problem = "\(path) does not run (\(help.exit)\(words)); a current Node.js may be missing"
      if configured != nil { throw AgentUnavailable(description: problem) }
      return try demo(problem)
    }
    let version = await run(path, ["--version"]).output.last
    let program = AgentExecutable(
      path: path, version: version, takesSessionID: help.output.contains { $0.contains("--session-id") },
      takesExtensions: help.output.contains { $0.contains("--extension") }, isDemo: false)
    if configured == nil, let problem = await modelProblem(path) { return try demo(problem) }
    return program
  }

  private func demo(_ reason: String) throws(AgentUnavailable) -> AgentExecutable {
    guard let demoAgent, access(demoAgent, X_OK) == 0 else {
      throw AgentUnavailable(description: "there is no agent to run: \(reason)")
    }
    return AgentExecutable(
      path: demoAgent, version: "demo", takesSessionID: true, takesExtensions: true, isDemo: true, demoReason: reason)
  }

  /// Asks pi for its models; none means that no key is configured.
  private func modelProblem(_ path: String) async -> String? {
    let answer = await run(
      path, ["--mode", "rpc", "--no-session"], input: "{\"id\":\"probe\",\"type\":\"get_available_models\"}\n",
      until: { $0.contains("\"id\":\"probe\"") })
    guard let line = answer.output.first(where: { $0.contains("\"id\":\"probe\"") }) else {
      return "\(path) did not answer; run it by hand to see why"
    }
    if line.contains("\"models\":[]") {
      return "\(path) has no model to use; run pi and type /login, or set a key such as ANTHROPIC_API_KEY"
    }
    return nil
  }

  private func run(
    _ path: String, _ arguments: [String], input: String? = nil,
    until: @escaping @Sendable (String) -> Bool = { _ in false }
  ) async -> ProcessOutput {
    let environment = ChildEnvironment.agent(
      from: environment, secrets: secrets(), additions: ["PI_OFFLINE": "1"], markers: guardian.map { [$0.marker] } ?? []
    )
    do {
      return try await ProcessOutput(
        .init(name: "probe of \(path)", path: path, arguments: arguments, environment: environment),
        guardian: guardian, input: input, limit: .seconds(20), clock: clock, until: until)
    } catch {
      return ProcessOutput(failure: error)
    }
  }

  /// Finds the executable of a name: a path, or the first file of that name on the search path.
  package static func resolve(_ name: String, searchPath: String) -> String? {
    if name.contains("/") { return access(name, X_OK) == 0 ? name : nil }
    for folder in searchPath.split(separator: ":") {
      let path = "\(folder)/\(name)"
      var status = stat()
      if access(path, X_OK) == 0, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG { return path }
    }
    return nil
  }
}
