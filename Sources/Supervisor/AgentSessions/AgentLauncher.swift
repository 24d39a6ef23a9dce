internal import AgentRuntime
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayLogging
internal import RelayModel
internal import RelayTransport
internal import SessionStates

/// Starts the agent's process of one session.
struct AgentLauncher: Sendable {
  let context: SessionContext
  /// The session's name, for logs.
  let name: String
  let model: String?
  let memory: TranscriptRetention?

  private var dependencies: SessionDependencies { context.dependencies }

  /// - Throws: where tool calls may have to wait for a person and the program would make them without asking.
  func requireApprovals(in program: AgentExecutable) throws(AgentUnavailable) {
    guard dependencies.hasApprovals(), let problem = dependencies.agentExtension.approvalProblem(of: program) else {
      return
    }
    throw AgentUnavailable(description: problem)
  }

  func launch(of program: AgentExecutable) -> AgentLaunchConfiguration {
    AgentLaunchConfiguration(
      program: program, pi: context.pi, id: context.record.id, model: model ?? context.pi.model,
      directory: context.record.directory, memory: memory, extensionFolder: dependencies.agentExtension.folder,
      hasApprovals: dependencies.hasApprovals(),
      home: dependencies.home,
      inherited: dependencies.environment)
  }

  var log: LogFile {
    LogFile(path: dependencies.home.log("session-\(context.record.id)"), limits: dependencies.logLimits)
  }

  /// Prepares the session's folders and files.
  ///
  /// - Parameter isAlone: false where another process may still write the session's file.
  func prepare(_ launch: AgentLaunchConfiguration, isAlone: Bool) async throws {
    try memory?.prepare(workingIn: context.record.directory)
    try launch.prepare()
    if isAlone { try await trimPartialLines(of: launch.sessionFiles) }
  }

  /// Spawns the process, once that is possible.
  ///
  /// - Parameter requireOpen: throws when nobody needs the process any more.
  func spawn(
    _ program: AgentExecutable, _ launch: AgentLaunchConfiguration, requireOpen: () async throws -> Void
  ) async throws -> PiConnection {
    let request = ChildProcess.Request(
      name: "session \(name)", path: program.path, arguments: launch.arguments,
      environment: ChildEnvironment.agent(
        from: dependencies.environment, secrets: dependencies.secretVariables(), additions: launch.environment,
        markers: [context.marker] + (dependencies.guardian.map { [$0.marker] } ?? [])),
      directory: context.record.directory)
    let log = log
    while true {
      await SpawnGate.shared.wait()
      try await requireOpen()
      do {
        return try PiConnection(
          request, guardian: dependencies.guardian, log: log, wantsToolImages: context.record.wantsToolImages,
          clock: dependencies.timeSource.clock, text: { [emit = context.emit] in emit(.text($0)) })
      } catch SpawnError.postponed {
        // Closed again before this went through.
      }
    }
  }

  /// Talks to an agent that a person runs.
  func attach(_ agent: AttachedAgent) -> PiConnection {
    PiConnection(
      attached: agent.process, input: agent.input, output: agent.output, held: agent.held, log: log,
      wantsToolImages: context.record.wantsToolImages, clock: dependencies.timeSource.clock,
      text: { [emit = context.emit] in emit(.text($0)) })
  }

  /// Continues with an agent process of this program's predecessor.
  func adopt(_ handover: PiConnection.Snapshot) throws -> PiConnection {
    try PiConnection(
      handover, guardian: dependencies.guardian, log: log, wantsToolImages: context.record.wantsToolImages,
      clock: dependencies.timeSource.clock, text: { [emit = context.emit] in emit(.text($0)) })
  }

  /// Waits for the agent of an earlier daemon, which may still be on its way out: two would write into one session file,
  /// and what it has taken is not known before it has ended.
  ///
  /// - Returns: false when one does not end.
  func waitForPredecessor() async -> Bool {
    guard let guardian = dependencies.guardian else { return true }
    for attempt in 0..<500 {
      let signal = attempt < 300 ? 0 : SIGKILL
      // Looks at every process there is: not on the loop.
      let count = await withTaskExecutorPreference(globalConcurrentExecutor) {
        guardian.endLeftovers(of: context.marker, signal: signal)
      }
      if count == 0 { return true }
      guard await dependencies.timeSource.sleep(for: .milliseconds(10)) else { return false }
    }
    dependencies.logger.with(session: context.record.id, named: name).error(
      "an agent of an earlier daemon does not end")
    return false
  }

  /// Cuts the rest of a line that a session's file ends in: pi would glue the next entry to it and orphan everything
  /// earlier. A process that is just writing the line, as a pi that was started by hand, is left alone.
  private func trimPartialLines(of files: [String]) async throws {
    for file in files {
      guard let partial = PartialLine(of: file) else { continue }
      guard await dependencies.timeSource.sleep(for: .milliseconds(200)) else { return }
      if PartialLine(of: file) == partial { try partial.cut() }
    }
  }
}
