internal import AgentRuntime
internal import Glibc
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayTransport
internal import SessionStates

// The agent's process: started when needed, one at a time, and never for a session that is closed.
extension Session {
  private func requireOpen() throws {
    guard phase.isOpen else { throw AgentUnavailable(description: "the session was closed") }
  }

  private var launcher: AgentLauncher {
    AgentLauncher(context: context, name: name, model: model.chosen, memory: retention.memory)
  }

  /// The running agent, started if there is none. Called from the loop of work only.
  func connected() async throws -> PiConnection {
    try requireOpen()
    switch agent.beginStart(SlotRequest(), hasEnded: { $0.child.hasEnded }) {
    case .running(let connection): return connection
    case .wait(let request, let predecessor):
      // Its leftovers are found by the session's mark, which the next process carries too.
      if let predecessor { _ = await predecessor.aftermath.next() }
      return try await startAgent(request)
    }
  }

  private func startAgent(_ request: SlotRequest) async throws -> PiConnection {
    var slot: AgentSlot?
    do {
      let acquired = try await dependencies.places.enter(request) { [emit] in
        emit(.notice("⏳ All agents are busy; this starts when one is free. /stop gives up."))
      }
      slot = acquired
      agent.acquired(acquired)
      try requireOpen()
      // It looks into folders and starts a process: not on the loop.
      let connection = try await withTaskExecutorPreference(globalConcurrentExecutor) { try await launch(acquired) }
      await acquired.started()
      guard phase.isOpen else {
        await stopAgent()
        throw AgentUnavailable(description: "the session was closed")
      }
      return connection
    } catch {
      await slot?.release()
      agent.startFailed()
      throw error
    }
  }

  private func launch(_ slot: AgentSlot) async throws -> PiConnection {
    let program = try await dependencies.agents.program()
    facts.startBegan(program)
    try requireOpen()
    let launcher = launcher
    let launch = launcher.launch(of: program)
    var isAlone = true
    if facts.mayHavePredecessor {
      isAlone = await launcher.waitForPredecessor()
      facts.predecessorIsGone()
    }
    try await launcher.prepare(launch, isAlone: isAlone)
    let connection = try await launcher.spawn(program, launch) { try requireOpen() }
    agent.launched(connection)
    facts.processBegan()
    let isHeard = taskScope.add(on: EventLoop.shared) { [self] in await listen(to: connection, slot: slot) }
    // The daemon is stopping.
    if !isHeard { connection.aftermath.close() }
    do {
      learn(try await connection.send(.getState, within: pi.answerTimeout).data(PiState.self), through: connection)
    } catch {
      agent.launchFailed(connection)
      let exit = await connection.stop(grace: .seconds(1))
      await connection.readErrors()
      _ = await connection.aftermath.next()
      throw AgentUnavailable(
        description: "the agent did not start (\(exit))\(connection.firstError.map { ":\n\($0)" } ?? ".")\n"
          + "The whole log: pi-relayd logs session-\(id)")
    }
    agent.ready(connection)
    await tellOfDemo(program)
    return connection
  }

  /// Says that the demo agent answers, and why: once for each reason, in whichever session.
  private func tellOfDemo(_ program: AgentExecutable) async {
    // A session that nobody watches has nobody who would read it.
    guard context.isListed, let reason = program.demoReason else { return }
    let text = "This is the demo agent, not a real one: \(reason)"
    do {
      guard try await dependencies.store.keepNotice(text) else { return }
    } catch {
      logger.error("that people know of the demo agent could not be stored: \(error)")
    }
    emit(.notice(text))
  }

  /// Continues with a process of the program before. `listen` must follow.
  func adoptAgent(_ handover: PiConnection.Snapshot, isWorking: Bool) async throws -> (PiConnection, AgentSlot) {
    let connection = try launcher.adopt(handover)
    let slot = await dependencies.places.adopt()
    agent.adopt(connection, slot, isWorking: isWorking)
    return (connection, slot)
  }

  func stopAgent() async {
    guard let holder = agent.beginLeaving() else { return }
    let generation = current.generation
    withdrawDialogs("the agent was ended")
    let exit = await holder.process.stop()
    // Before those who wait for the slot are told that there is none.
    await holder.slot.release()
    // A run that was in progress, as when the session is closed, ends with it; one that has begun since does not.
    if current.run(generation) != nil { current.reportEnd(.died(exit, holder.process.lastError)) }
  }

  /// pi writes a session's file with the first answer, not with the first message. False where the file's place is not
  /// known for certain.
  func hasSavedNothing() async -> Bool {
    if let file = facts.state?.sessionFile {
      return await withTaskExecutorPreference(globalConcurrentExecutor) { access(file, F_OK) != 0 }
    }
    let program: AgentExecutable
    do { program = try await dependencies.agents.program() } catch { return false }
    let launch = launcher.launch(of: program)
    return await withTaskExecutorPreference(globalConcurrentExecutor) { launch.hasSavedNothing }
  }
}
