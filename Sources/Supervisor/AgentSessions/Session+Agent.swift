internal import AgentRuntime
internal import Glibc
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayTransport

// The agent's process: started when needed, one at a time, and never for a session that is closed.
extension Session {
  private func requireOpen() throws {
    if closed { throw AgentUnavailable(description: "the session was closed") }
  }

  /// The running agent, started if there is none. Called from the loop of work only.
  func connected() async throws -> PiConnection {
    try requireOpen()
    if let connection, !connection.child.hasEnded { return connection }
    connection = nil
    let request = SlotRequest()
    slotRequest = request
    defer { slotRequest = nil }
    if let leaving {
      _ = await leaving.child.exit()
      self.leaving = nil
    }
    activity = .starting
    var slot: AgentSlot?
    do {
      let entered = try await dependencies.places.enter(request) { [emit] in
        emit(.notice("⏳ All agents are busy; this starts when one is free. /stop gives up."))
      }
      slot = entered
      try requireOpen()
      // It looks into folders and starts a process: not on the loop.
      let connection = try await withTaskExecutorPreference(globalConcurrentExecutor) { try await start(entered) }
      await entered.started()
      if closed {
        await stopAgent()
        try requireOpen()
      }
      activity = .idle
      return connection
    } catch {
      await slot?.release()
      connection = nil
      activity = .stopped
      throw error
    }
  }

  private func start(_ slot: AgentSlot) async throws -> PiConnection {
    let program = try await dependencies.agents.program()
    agent = program
    try requireOpen()
    let launch = launch(of: program)
    let log = LogFile(path: dependencies.folders.log("session-\(id)"), limits: dependencies.logLimits)
    let marker = "PI_RELAY_SESSION=\(id)"
    var isAlone = true
    if isRestored {
      isAlone = await waitForAgents(marked: marker)
      isRestored = false
    }
    try memory?.prepare(workingIn: directory)
    try launch.prepare()
    if isAlone { try await trimPartialLines(of: launch.sessionFiles) }
    let request = ChildProcess.Request(
      name: "session \(name)", path: program.path, arguments: launch.arguments,
      environment: ChildEnvironment.agent(
        from: dependencies.environment, secrets: dependencies.secretVariables(), additions: launch.environment,
        markers: [marker] + (dependencies.guardian.map { [$0.marker] } ?? [])),
      directory: directory)
    let connection = try await connect(request, log)
    self.connection = connection
    self.slot = slot
    commands = nil
    taskScope.add(on: EventLoop.shared) { [self] in await listen(to: connection, marker: marker, slot: slot) }
    do {
      learn(try await connection.send(.getState, within: pi.answerTimeout).data(PiState.self), through: connection)
    } catch {
      // It ends no run: none has begun.
      self.connection = nil
      let exit = await connection.stop(grace: .seconds(1))
      await connection.readErrors()
      throw AgentUnavailable(
        description: "the agent did not start (\(exit))\(connection.firstError.map { ":\n\($0)" } ?? ".")\n"
          + "The whole log: pi-relayd logs session-\(id)")
    }
    await tellOfDemo(program)
    return connection
  }

  func launch(of program: AgentProgram) -> SessionLaunch {
    SessionLaunch(
      program: program, pi: pi, id: id, model: model ?? pi.model, directory: directory, memory: memory,
      folders: dependencies.folders, inherited: dependencies.environment)
  }

  /// Says that the demo agent answers, and why: once for each reason, in whichever session.
  private func tellOfDemo(_ program: AgentProgram) async {
    // A session that nobody watches has nobody who would read it.
    guard isListed, let reason = program.demoReason else { return }
    let text = "This is the demo agent, not a real one: \(reason)"
    do {
      guard try await dependencies.store.keepNotice(text) else { return }
    } catch {
      dependencies.log("session \(name): that people know of the demo agent could not be stored: \(error)")
    }
    emit(.notice(text))
  }

  private func connect(_ request: ChildProcess.Request, _ log: LogFile) async throws -> PiConnection {
    while true {
      await SpawnGate.shared.wait()
      try requireOpen()
      do {
        return try PiConnection(
          request, guardian: dependencies.guardian, log: log, wantsToolImages: wantsToolImages,
          clock: dependencies.timekeeper.clock, text: { [emit] in emit(.text($0)) })
      } catch SpawnError.postponed {
        // Closed again before this went through.
      }
    }
  }

  /// The agent of the daemon before may still be on its way out; two would write into one session file, and what it has
  /// taken is not known before it has ended.
  ///
  /// - Returns: false when one does not end.
  private func waitForAgents(marked marker: String) async -> Bool {
    guard let guardian = dependencies.guardian else { return true }
    let timekeeper = dependencies.timekeeper
    for attempt in 0..<500 {
      let signal = attempt < 300 ? 0 : SIGKILL
      // Looks at every process there is: not on the loop.
      let count = await withTaskExecutorPreference(globalConcurrentExecutor) {
        guardian.endLeftovers(of: marker, signal: signal)
      }
      if count == 0 { return true }
      guard await timekeeper.sleep(for: .milliseconds(10)) else { return false }
    }
    dependencies.log("session \(name): an agent of an earlier daemon does not end")
    return false
  }

  /// A session's file that ends in the middle of a line would make pi lose the history before it: the next entry would
  /// be glued to the rest and orphan everything earlier. Somebody who is just writing the line, as a pi that was started
  /// by hand, is left alone.
  private func trimPartialLines(of files: [String]) async throws {
    for file in files {
      guard let partial = PartialLine(of: file) else { continue }
      guard await dependencies.timekeeper.sleep(for: .milliseconds(200)) else { return }
      if PartialLine(of: file) == partial { try partial.cut() }
    }
  }

  func stopAgent() async {
    guard let connection else { return }
    self.connection = nil
    leaving = connection
    activity = .stopped
    cancelDialogs("the agent was ended")
    let number = runNumber
    let slot = slot
    let exit = await connection.stop()
    // Before those who wait for the slot are told that there is none.
    await slot?.release()
    // A run that was in progress, as when the session is closed, ends with it; one that has begun since does not.
    if run != nil, runNumber == number { endRun(.died(exit, connection.lastError)) }
  }

  /// The end of the session's transcript, so that after a crash later entries can be told from earlier ones.
  func lastEntry(_ connection: PiConnection) async -> TranscriptPosition {
    guard agent?.takesSessionID == true else { return .unknown }
    var answer = try? await connection.send(.getEntries(since: lastLeaf), within: pi.answerTimeout)
    // The session may have been rewound from elsewhere.
    let isRewound = answer?.success == false && lastLeaf != nil
    if isRewound { answer = try? await connection.send(.getEntries(since: nil), within: pi.answerTimeout) }
    guard let answer, answer.success else { return .unknown }
    let leaf = answer.leafID ?? (isRewound ? nil : lastLeaf)
    // A process that has been told to exit says nothing about the one that follows.
    if self.connection === connection { lastLeaf = leaf }
    return leaf.map(TranscriptPosition.after) ?? .empty
  }

  /// Looks once, before this process gives the session anything, which messages of earlier processes its transcript has, and
  /// stores that: later messages would look like them.
  ///
  /// - Returns: false when the agent has exited meanwhile, or nobody waits for it any more.
  func reconcileDispatched(_ connection: PiConnection) async -> Bool {
    var hasTold = false
    while holdings == nil {
      guard run?.prompt.life.evidence.interruption == nil, !closed else { return false }
      do {
        var found: [DispatchedMessage: TranscriptLookup] = [:]
        for (one, words) in try await dependencies.store.dispatching(to: id) {
          let lookup = await lookUp(after: one.position, connection)
          let provesNothing = lookup == .absent ? await mayBeCommandOfExtension(words) : false
          found[one] = provesNothing ? .inconclusive : lookup
          if earlyEnding != nil || connection.hasEnded { return false }
        }
        let changes = found.mapValues { MessageLifecycle.change(of: $0) }
        try await dependencies.store.resolve(changes, in: id)
        holdings = Dictionary(found.map { ($0.key.message, $0.value) }, uniquingKeysWith: { $1 })
      } catch {
        if !hasTold {
          dependencies.log("session \(name): a message waits until it can be stored what the session has: \(error)")
          emit(.notice("⚠️ Your message waits: \(error)"))
        }
        hasTold = true
        guard await dependencies.timekeeper.sleep(for: .seconds(1)) else { return false }
      }
    }
    return true
  }

  /// Whether the transcript has a message of the person newer than `position`: then the agent had taken it.
  func lookUp(after position: TranscriptPosition, _ connection: PiConnection) async -> TranscriptLookup {
    let entry: String?
    switch position {
    case .unknown: return .inconclusive
    case .empty: entry = nil
    case .after(let last): entry = last
    }
    guard agent?.takesSessionID == true,
      let answer = try? await connection.send(.getEntries(since: entry), within: pi.answerTimeout), answer.success,
      let entries = try? answer.data(PiEntries.self)
    else { return .inconclusive }
    return entries.holdUserMessage ? .present : .absent
  }
}
