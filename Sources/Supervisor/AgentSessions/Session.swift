package import AgentRuntime
internal import Logging
package import PiRPC
internal import ProcessSupervision
package import RelayConcurrency
package import RelayConfig
internal import RelayLogging
package import RelayModel
internal import RelayStore
internal import RelayText
package import SessionStates

/// One session of the agent: a queue of messages, and a pi process started when there is one to work on.
///
/// At most one prompt is with pi at a time; follow-ups wait here, where they can still be changed, and where a crash
/// of pi cannot lose them. Four components keep their own state to themselves: `SessionAgent` the process,
/// `SessionQuestions` the questions to the person, `TranscriptSearch` the proof of what an earlier process took, and
/// `RunWatch` the limits of one run. The actor decides about messages: `Session+Work` takes them one by one,
/// `Session+Turn` carries out the steps that a message's life names, `Session+Run` talks with the agent about it.
package actor Session {
  typealias Generation = CurrentWork.Generation

  nonisolated let context: SessionContext
  package internal(set) var name: String
  var model: ModelSelection
  var phase: SessionPhase
  var queue = PromptQueue()
  var current = CurrentWork()
  let agent: SessionAgent
  let transcript: TranscriptSearch
  let questions: SessionQuestions
  var retention: RetentionState
  var notices = NoticeText()
  /// Of a session whose agent a person runs.
  var terminal = TerminalPresence()
  let wakes = Mailbox<Void>(merge: { _, _ in true })
  var workWaiters: [CheckedContinuation<Void, Never>] = []

  /// How long a run of an older pi must be quiet after `agent_end` to be over: retries and compactions start at once.
  static let quietAfterEnd: Duration = .milliseconds(150)
  static let abortLimit: Duration = .seconds(10)

  package init(
    _ record: SessionRecord, pi: Config.Pi, settings: Config.Sessions, memory: TranscriptRetention? = nil,
    dependencies: SessionDependencies, taskScope: TaskScope, isRestored: Bool = false, isListed: Bool = true,
    phase: SessionPhase = .open, emit: @escaping @Sendable (SessionEvent) -> Void
  ) {
    context = SessionContext(
      record: record, pi: pi, settings: settings, isListed: isListed, dependencies: dependencies, taskScope: taskScope,
      emit: emit)
    self.phase = phase
    name = record.name
    model = ModelSelection(chosen: record.model, shown: record.shownModel)
    agent = SessionAgent(context, memory: memory, isRestored: isRestored)
    transcript = TranscriptSearch(context, isRestored: isRestored)
    questions = SessionQuestions(context)
    retention = RetentionState(memory, now: dependencies.timeSource.wallTime())
  }

  package nonisolated var id: String { context.record.id }
  package nonisolated var directory: String { context.record.directory }
  package nonisolated var role: SessionRole? { context.record.role }
  /// A person runs its agent in a terminal.
  package nonisolated var isAttached: Bool { context.record.isAttached }
  /// The conversation that began it.
  package nonisolated var home: ConversationKey? { context.record.home }
  nonisolated var settings: Config.Sessions { context.settings }
  nonisolated var pi: Config.Pi { context.pi }
  nonisolated var dependencies: SessionDependencies { context.dependencies }
  var logger: Logger { dependencies.logger.with(session: id, named: name) }
  nonisolated var taskScope: TaskScope { context.taskScope }
  nonisolated var emit: @Sendable (SessionEvent) -> Void { context.emit }

  /// The process that the session talks to.
  package var connection: PiConnection? { agent.process }

  package func status() -> SessionStatus {
    SessionStatus(
      id: id, name: name, directory: directory, activity: agent.activity,
      model: model.shown ?? model.chosen ?? pi.model, pid: connection?.process.pid, queued: queue.count,
      openDialogs: questions.count, sessionFile: agent.facts.state?.sessionFile, restarts: agent.facts.restarts,
      isDemo: agent.facts.program?.isDemo ?? false,
      terminal: isAttached ? terminal.status(isConnected: connection != nil) : nil)
  }

  package var record: SessionRecord {
    var record = context.record
    record.name = name
    record.model = model.chosen
    record.shownModel = model.shown
    return record
  }

  /// As many messages wait as may.
  package var isFull: Bool { queue.count >= settings.maximumQueued }

  package var isIdle: Bool { current.isNothing && agent.isIdle && queue.isEmpty }
  package var isBusy: Bool { !current.isNothing || agent.isCompacting || !queue.isEmpty }

  /// True for work that will finish without a person. False while the agent or the session waits for an answer.
  package var isAtWork: Bool { isBusy && questions.isEmpty }

  package func rename(_ new: String) async {
    name = new
    emit(.nameOrModelChanged)
    guard let connection else { return }
    _ = try? await connection.send(.setSessionName(new), within: pi.answerTimeout)
  }

  /// Uses another model from the next run on: the idle agent is restarted with it. `set_model` would change the
  /// person's own settings.
  package func use(model new: String) async {
    if isAttached { return await useInTerminal(model: new) }
    let isIdle = isIdle
    model.choose(new, isIdle: isIdle)
    emit(.nameOrModelChanged)
    if isIdle { await stopAgent() }
  }

  /// The agent has told its state: its model is shown, even when it sleeps, and by the next daemon.
  package func learn(_ told: PiState, through connection: PiConnection) {
    guard self.connection === connection else { return }
    agent.learn(told)
    dependencies.agentObserver?.told(told, by: connection)
    guard model.learn(told.model.map { TextSanitizer.line($0.name ?? $0.id, limit: 80) }), let shown = model.shown
    else {
      return
    }
    dependencies.store.scheduleShownModel(shown, of: id)
    emit(.nameOrModelChanged)
  }

  /// The agent's own commands; none where it has not told them.
  package func agentCommands() async -> [PiCommandList.Command] { await agent.commands() ?? [] }

  /// - Returns: `nil` where the agent does not tell them.
  package func fetchCommands() async -> [PiCommandList.Command]? { await agent.commands() }

  /// The models that the agent knows, with their providers; none while it sleeps, or does not say.
  package func modelNames() async -> [String] { await agent.modelNames() }

  /// Answers a question; false when it no longer waits.
  package func answer(_ id: String, _ answer: PiDialogAnswer) -> Bool {
    if questions.answerOwn(id, answer) { return true }
    guard let connection, questions.closeDialog(id) else { return false }
    let isGiven = questions.answer(id, answer, connection)
    resumeHandling()
    return isGiven
  }

  /// A question of the session's own can be asked now.
  var mayAsk: Bool { phase.isOpen && current.run?.aborting != true }

  func requireOpen() throws {
    guard phase.isOpen else { throw AgentUnavailable(description: "the session was closed") }
  }

  /// Ends the agent: the work to come starts another.
  func stopAgent() async {
    guard let leaving = agent.beginLeaving() else { return }
    let generation = current.generation
    questions.withdrawDialogs("the agent was ended")
    let exit = await leaving.process.stop()
    // Before those who wait for the slot are told that there is none.
    await leaving.slot.release()
    // A run that was in progress, as when the session is closed, ends with it; one that has begun since does not.
    if current.run(generation) != nil { current.reportEnd(.died(exit, leaving.process.lastError)) }
  }

  /// Runs the body of a timer on the session.
  func run(_ body: @Sendable (isolated Session) -> Void) { body(self) }

  /// Ends an idle agent to make room; it is started again when needed. False when it is not idle.
  package func makeRoom() async -> Bool {
    guard isIdle else { return false }
    await stopAgent()
    return true
  }

  /// Stores the end of a message.
  func store(_ end: MessageEnd) async {
    do {
      try await dependencies.store.end(end)
    } catch {
      logger.error("the end of a message could not be stored: \(error)")
    }
  }

  func advance(_ message: MessageKey, _ change: StageChange) async {
    do {
      try await dependencies.store.advance(message, change, in: id)
    } catch {
      logger.error("the state of a message could not be stored: \(error)")
    }
  }
}
