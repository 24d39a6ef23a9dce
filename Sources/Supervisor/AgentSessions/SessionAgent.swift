internal import AgentRuntime
internal import BridgeProtocol
internal import Glibc
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import SessionStates

/// The agent of one session: its process, the slot that the process holds, and the facts known of it.
///
/// Belongs to the session's actor: started when needed, one process at a time, and never for a session that is closed.
final class SessionAgent {
  private var state = AgentState<PiConnection, SlotRequest, AgentSlot>.stopped
  private(set) var facts: AgentFacts
  private let context: SessionContext
  private let memory: TranscriptRetention?

  /// - Parameter isRestored: an agent of an earlier daemon may not have exited yet.
  init(_ context: SessionContext, memory: TranscriptRetention?, isRestored: Bool) {
    self.context = context
    self.memory = memory
    facts = AgentFacts(isRestored: isRestored)
  }

  /// The process that the session talks to.
  var process: PiConnection? { state.process }
  var activity: SessionStatus.Activity { state.activity }
  var isIdle: Bool { state.isIdle }
  var isCompacting: Bool { state.isCompacting }

  /// A process that was told to exit and has not.
  var isLeaving: Bool { if case .leaving(let process) = state { !process.process.hasEnded } else { false } }

  // MARK: - Starting

  private func launcher(_ session: isolated Session) -> AgentLauncher {
    AgentLauncher(context: context, name: session.name, model: session.model.chosen, memory: memory)
  }

  /// Ends the wait for a slot.
  func cancelWait() { state.request?.cancel() }

  /// The running process; starts one where there is none. Called from the loop of work only.
  ///
  /// - Throws: `AgentUnavailable`, or the error that the person can act on.
  func connected(for session: isolated Session) async throws -> PiConnection {
    try session.requireOpen()
    if context.record.isAttached {
      guard let process, !process.process.hasEnded else {
        throw AgentUnavailable(
          description: "its pi in the terminal is not connected. It goes on when pi is back there.")
      }
      return process
    }
    switch state.beginStart(SlotRequest(), hasEnded: { $0.process.hasEnded }) {
    case .running(let connection): return connection
    case .wait(let request, let predecessor):
      // Its leftovers are found by the session's mark, which the next process carries too.
      if let predecessor { _ = await predecessor.aftermath.next() }
      return try await start(request, for: session)
    }
  }

  private func start(_ request: SlotRequest, for session: isolated Session) async throws -> PiConnection {
    var slot: AgentSlot?
    do {
      let acquired = try await context.dependencies.places.enter(request) { [emit = context.emit] in
        emit(.notice("⏳ All agents are busy; this starts when one is free. /stop gives up."))
      }
      slot = acquired
      state.acquired(acquired)
      try session.requireOpen()
      // It looks into folders and starts a process: not on the loop.
      let connection = try await withTaskExecutorPreference(globalConcurrentExecutor) {
        try await launch(acquired, for: session)
      }
      await acquired.started()
      if !session.phase.isOpen { await session.stopAgent() }
      try session.requireOpen()
      return connection
    } catch {
      await slot?.release()
      state.startFailed()
      throw error
    }
  }

  private func launch(_ slot: AgentSlot, for session: isolated Session) async throws -> PiConnection {
    let program = try await context.dependencies.agents.program()
    facts.startBegan(program)
    try session.requireOpen()
    let launcher = launcher(session)
    try launcher.requireApprovals(in: program)
    let launch = launcher.launch(of: program)
    var isAlone = true
    if facts.mayHavePredecessor {
      isAlone = await launcher.waitForPredecessor()
      facts.predecessorIsGone()
    }
    try await launcher.prepare(launch, isAlone: isAlone)
    let connection = try await launcher.spawn(program, launch) { try session.requireOpen() }
    state.launched(connection)
    facts.processBegan()
    let isHeard = session.beginListening(to: connection, slot: slot)
    // The daemon is stopping.
    if isHeard { observe(connection, for: session) } else { connection.aftermath.close() }
    do {
      let told = try await connection.send(.getState, within: context.pi.answerTimeout).data(PiState.self)
      session.learn(told, through: connection)
    } catch {
      state.launchFailed(connection)
      let exit = await connection.stop(grace: .seconds(1))
      await connection.readErrors()
      _ = await connection.aftermath.next()
      throw AgentUnavailable(
        description: "the agent did not start (\(exit))\(connection.firstError.map { ":\n\($0)" } ?? ".")\n"
          + "The whole log: pi-relayd logs session-\(context.record.id)")
    }
    state.ready(connection)
    await tellOfDemo(program)
    return connection
  }

  func observe(
    _ connection: PiConnection, for session: isolated Session, bridge: BridgePreferences? = nil
  ) {
    guard context.isListed, let observer = context.dependencies.agentObserver else { return }
    observer.began(
      connection,
      of: ObservedSession(
        id: context.record.id, name: session.name, directory: context.record.directory, bridge: bridge))
  }

  /// Says that the demo agent answers, and why: once for each reason, in whichever session.
  private nonisolated(nonsending) func tellOfDemo(_ program: AgentExecutable) async {
    // A session that nobody watches has nobody who would read it.
    guard context.isListed, let reason = program.demoReason else { return }
    let text = "This is the demo agent, not a real one: \(reason)"
    do {
      guard try await context.dependencies.store.keepNotice(text) else { return }
    } catch {
      context.logger.error("the notice about the demo agent could not be stored: \(error)")
    }
    context.emit(.notice(text))
  }

  // MARK: - Working

  func runStarted() { state.runStarted() }
  func runEnded() { state.runEnded() }
  func compactionBegan() { state.compactionBegan() }
  func compactionEnded() { state.compactionEnded() }

  // MARK: - Ending

  /// Notes that the caller tells the process to exit.
  ///
  /// - Returns: the process and its slot; `nil` when there is none.
  func beginLeaving() -> AgentState<PiConnection, SlotRequest, AgentSlot>.Holder? { state.beginLeaving() }

  /// Notes that a process has exited.
  ///
  /// - Returns: false when it is not the one that the session talks to: that was accounted for.
  func exited(_ process: PiConnection) -> Bool { state.exited(process) }

  func exitedInRun() { facts.exitedInRun() }

  /// Cleans up after a process whose output has ended: reaps it, ends the processes that it left behind where the
  /// configuration says so, and releases its slot.
  nonisolated(nonsending) func cleanUp(after connection: PiConnection, slot: AgentSlot) async -> TerminationStatus {
    context.dependencies.agentObserver?.ended(connection)
    let exit = await connection.process.tearDown([.wait(.seconds(2))], clock: context.dependencies.timeSource.clock)
    if context.settings.leftovers == .kill, let guardian = context.dependencies.guardian {
      // Looks at every process there is: not on the loop.
      await withTaskExecutorPreference(globalConcurrentExecutor) { [marker = context.marker] in
        _ = guardian.endLeftovers(of: marker, signal: SIGKILL)
      }
    }
    connection.aftermath.close()
    await slot.release()
    await connection.readErrors()
    return exit
  }

  // MARK: - Facts

  func learn(_ told: PiState) { facts.learn(told) }

  func note(_ event: PiEvent) { facts.note(event) }

  /// The process says `agent_settled` at the end of a run; `nil` while unknown.
  func settles(_ connection: PiConnection) -> Bool? { facts.settles ?? connection.sendsWholeMessages.map { !$0 } }

  /// The agent's own commands; `nil` where the agent does not tell them.
  nonisolated(nonsending) func commands() async -> [PiCommandList.Command]? {
    if facts.commands == nil, let process,
      let answer = try? await process.send(.getCommands, within: context.pi.answerTimeout),
      let list = try? answer.data(PiCommandList.self)
    {
      facts.learn(list.commands)
    }
    return facts.commands
  }

  /// The models that the agent knows, with their providers; none while it sleeps, or does not say.
  nonisolated(nonsending) func modelNames() async -> [String] {
    guard let process, let answer = try? await process.send(.getAvailableModels, within: context.pi.answerTimeout),
      let models = try? answer.data(PiModelList.self).models
    else { return [] }
    return models.map { ($0.provider.map { "\($0)/" } ?? "") + $0.id }
  }

  /// pi writes a session's file with the first answer, not with the first message. False where the file's place is not
  /// known for certain, and where pi may live on and remember: in a terminal it outlives the daemon and its connection.
  func hasSavedNothing(_ session: isolated Session) async -> Bool {
    if context.record.isAttached { return false }
    if let file = facts.state?.sessionFile {
      return await withTaskExecutorPreference(globalConcurrentExecutor) { access(file, F_OK) != 0 }
    }
    let program: AgentExecutable
    do { program = try await context.dependencies.agents.program() } catch { return false }
    let launch = launcher(session).launch(of: program)
    return await withTaskExecutorPreference(globalConcurrentExecutor) { launch.hasSavedNothing }
  }

  // MARK: - Attached

  /// Goes on with an agent that a person runs.
  func attach(_ agent: AttachedAgent, for session: isolated Session) async -> (PiConnection, AgentSlot) {
    let connection = launcher(session).attach(agent)
    let slot = await context.dependencies.places.adopt()
    state.adopt(connection, slot, isWorking: false)
    return (connection, slot)
  }

  // MARK: - Upgrade

  /// Continues with a process of the program before. The session must listen to it.
  func adopt(_ handover: SessionSnapshot, for session: isolated Session) async throws -> (PiConnection, AgentSlot) {
    let connection = try launcher(session).adopt(handover.connection)
    let slot = await context.dependencies.places.adopt()
    state.adopt(connection, slot, isWorking: handover.run != nil)
    facts.adopt(handover.program, settles: handover.settles, restarts: handover.restarts)
    observe(connection, for: session)
    return (connection, slot)
  }
}
