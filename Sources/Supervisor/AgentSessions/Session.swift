package import AgentRuntime
internal import DequeModule
internal import FoundationEssentials
internal import Glibc
package import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
package import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

/// One session of the agent: a queue of messages, and a pi process started when there is one to work on.
///
/// At most one prompt is with pi at a time; follow-ups wait here, where they can still be changed, and where a crash
/// of pi cannot lose them. `Session+Work` takes them one by one, `Session+Agent` keeps the process, `Session+Events`
/// listens to it.
package actor Session {
  package nonisolated let id: String
  package internal(set) var name: String
  package nonisolated let directory: String
  /// Chosen for this session; otherwise the configured one, or the agent's own.
  var model: String?
  let settings: Config.Sessions
  let pi: Config.Pi
  let wantsToolImages: Bool
  package nonisolated let role: SessionRole?
  /// The conversation that began it.
  let home: ConversationKey?
  /// Nil: what was said is kept for ever, where pi keeps it.
  let memory: SessionMemory?
  /// False for a session of the supervisor's own, which people neither see nor address.
  let isListed: Bool
  let dependencies: SessionDependencies
  let taskScope: TaskScope
  nonisolated let emit: @Sendable (SessionEvent) -> Void

  enum Work: Sendable {
    case prompt(Prompt)
    case compact(String?, CheckedContinuation<String?, Never>)
  }

  /// How a run came to its end.
  enum Ending: Sendable {
    case ended(RunEnd)
    case died(ChildExit, String?)
  }

  var queue: Deque<Work> = []
  let wakes = Mailbox<Void>(merge: { _, _ in true })
  var closed = false
  /// The daemon ends: what waits stays as it is stored.
  var isParked = false
  /// An earlier daemon had it, and its agent may not have ended yet.
  var isRestored: Bool
  var activity = SessionStatus.Activity.stopped
  package var connection: PiConnection?
  /// The slot of the running agent.
  var slot: AgentSlot?
  /// The wait for a slot, from before its beginning on; `nil` where no agent is being started.
  var slotRequest: SlotRequest?
  /// The compaction under way, from the start of its agent on; nil where there is none.
  var compaction: Compaction?
  /// A process that has been told to go; the next one waits for it, since two writers would fork pi's session file.
  var leaving: PiConnection?
  var state: PiState?
  /// The model that people are shown: the agent's, as last told, or one that was chosen since.
  var shownModel: String?
  /// The session's last entry when it was last asked for: only what is newer is asked for again.
  var lastLeaf: String?
  var agent: AgentProgram?
  var restartsForModel = false
  /// A message has ended that the next one is not to know of.
  var isToForget = false
  /// Of messages that an earlier daemon may have given to the agent: whether the session has them. Nil before that has been
  /// looked up, which is done before anything new is given.
  var holdings: [MessageKey: TranscriptLookup]?
  /// When the last message has ended, in seconds since 1970, or the session was begun.
  var lastWork: Double
  var run: SessionRun?
  var runWaiter: CheckedContinuation<Ending, Never>?
  /// pi ended before anybody waited for the end of the run.
  var earlyEnding: Ending?
  /// Counts runs, so that what belongs to an old one does nothing to the next.
  var runNumber = 0
  /// Counts what shows that a run goes on, so that an old quiet timer does not end it.
  var quietNumber = 0
  var openDialogs: [String: OpenDialog] = [:]
  /// What we ask ourselves; it does not go when pi does.
  var questions: [String: CheckedContinuation<String?, Never>] = [:]
  var questionNumber = 0
  /// The one of `questions` about an agent that says nothing.
  var silenceQuestion: String?
  var restarts = 0
  var notices = NoticeText()
  var workIsOver = false
  var workWaiters: [CheckedContinuation<Void, Never>] = []
  var settles: Bool?
  /// Nil until this life of the agent has told them.
  var commands: [PiCommandList.Command]?

  /// How long a run of an older pi must be quiet after `agent_end` to be over: retries and compactions start at once.
  static let quietAfterEnd: Duration = .milliseconds(150)
  static let abortLimit: Duration = .seconds(10)

  init(
    _ record: SessionRecord, pi: Config.Pi, settings: Config.Sessions, memory: SessionMemory? = nil,
    dependencies: SessionDependencies, taskScope: TaskScope, isRestored: Bool = false, isListed: Bool = true,
    emit: @escaping @Sendable (SessionEvent) -> Void
  ) {
    id = record.id
    name = record.name
    directory = record.directory
    model = record.model
    wantsToolImages = record.wantsToolImages
    role = record.role
    home = record.home
    shownModel = record.shownModel
    self.memory = memory
    self.isListed = isListed
    self.pi = pi
    self.settings = settings
    self.dependencies = dependencies
    lastWork = dependencies.timekeeper.wallTime()
    self.taskScope = taskScope
    self.isRestored = isRestored
    holdings = isRestored ? nil : [:]
    self.emit = emit
  }

  package func status() -> SessionStatus {
    SessionStatus(
      id: id, name: name, directory: directory, activity: activity,
      model: shownModel ?? model ?? pi.model, pid: connection?.child.pid,
      queued: queue.count,
      openDialogs: openDialogs.count + questions.count, sessionFile: state?.sessionFile, restarts: restarts,
      isDemo: agent?.isDemo ?? false)
  }

  var record: SessionRecord {
    SessionRecord(
      id: id, name: name, directory: directory, model: model, wantsToolImages: wantsToolImages, role: role,
      home: home, shownModel: shownModel)
  }

  /// Whether an assistant's session has had nothing to do for so long that it is not needed any more.
  private func isUnused(for limit: Duration) -> Bool {
    guard let memory, memory.span != .kept, !isBusy, questions.isEmpty else { return false }
    return dependencies.timekeeper.wallTime() - (memory.lastUse ?? lastWork) >= limit / .seconds(1)
  }

  /// Where an assistant's session is not needed any more, what arrives from now on finds it closed; `close` must follow.
  func beginsToCloseIfUnused(for limit: Duration) -> Bool {
    guard !closed, isUnused(for: limit) else { return false }
    closed = true
    return true
  }

  package var isIdle: Bool { run == nil && activity == .idle && queue.isEmpty }
  package var isBusy: Bool { run != nil || activity == .compacting || !queue.isEmpty }

  /// True for work that will finish without a person. False while the agent or the session waits for an answer.
  package var isAtWork: Bool { isBusy && questions.isEmpty && openDialogs.isEmpty }

  enum Compaction { case wanted, stopped }

  package enum Stopping: Sendable, Equatable { case nothing, run, compaction }

  /// Interrupts what the agent is doing. Waiting messages run next.
  package func abort() async -> Stopping {
    guard run != nil else {
      guard compaction != nil else { return .nothing }
      // pi has no command that interrupts a compaction. A process that ends in the middle leaves the session as it was.
      compaction = .stopped
      slotRequest?.cancel()
      await stopAgent()
      return .compaction
    }
    // A step of the turn that has not reached pi yet ends with this.
    run?.prompt.life.take(.aborted)
    withdrawQuestions("the run was stopped")
    slotRequest?.cancel()
    guard let connection else { return .run }
    cancelDialogs("the run was stopped")
    let steering = run?.removeSteering() ?? []
    let number = runNumber
    taskScope.add { [self] in await endAbort(connection, number) }
    await dropAll(steering)
    return .run
  }

  private func endAbort(_ connection: PiConnection, _ number: Int) async {
    // Newer releases keep a queue of their own; older ones do not know the command.
    _ = try? await connection.send(.clearQueue, within: .seconds(2))
    guard runNumber == number, run != nil else { return }
    do {
      _ = try await connection.send(.abort, within: Self.abortLimit)
    } catch .timedOut {
      guard runNumber == number, run != nil else { return }
      dependencies.log("session \(name): pi did not stop within \(Self.abortLimit.forPeople) and is ended")
      connection.child.signal(SIGKILL)
    } catch {
      // It has ended: the run has too.
    }
  }

  /// Answers a question of the agent; false when it no longer waits.
  package func answer(_ dialog: String, _ answer: PiDialogAnswer) -> Bool {
    if let question = questions.removeValue(forKey: dialog) {
      if case .value(let label) = answer { question.resume(returning: label) } else { question.resume(returning: nil) }
      return true
    }
    guard let connection, openDialogs.removeValue(forKey: dialog) != nil else { return false }
    let given = answerQuietly(dialog, answer, connection)
    resumeHandling()
    return given
  }

  @discardableResult
  func answerQuietly(_ dialog: String, _ answer: PiDialogAnswer, _ connection: PiConnection) -> Bool {
    do {
      try connection.answer(dialog, answer)
      return true
    } catch {
      dependencies.log("session \(name): an answer could not be given: \(error)")
      return false
    }
  }

  /// Shortens the session's context, when everything before has run. Answers with words for the person; nil when the
  /// daemon ends first.
  package func compact(_ instructions: String?) async -> String? {
    await withCheckedContinuation { continuation in
      guard !closed else { return continuation.resume(returning: isParked ? nil : "The session is closed.") }
      queue.append(.compact(instructions, continuation))
      wakes.post(())
    }
  }

  package func rename(_ new: String) async {
    name = new
    emit(.nameOrModelChanged)
    guard let connection else { return }
    _ = try? await connection.send(.setSessionName(new), within: pi.answerTimeout)
  }

  /// Uses another model from the next run on: the idle agent is started anew with it. `set_model` would change the
  /// person's own settings.
  package func use(model new: String) async {
    model = new
    shownModel = new
    emit(.nameOrModelChanged)
    if isIdle { await stopAgent() } else { restartsForModel = true }
  }

  /// The agent has told its state: its model is shown, even when it sleeps, and by the next daemon.
  package func learn(_ told: PiState, through connection: PiConnection) {
    guard self.connection === connection else { return }
    state = told
    // Another one has been chosen, which the agent has from its next start on.
    guard !restartsForModel else { return }
    guard let model = told.model.map({ SafeText.line($0.name ?? $0.id, limit: 80) }), model != shownModel else {
      return
    }
    shownModel = model
    dependencies.store.keepShownModelSoon(model, of: id)
    emit(.nameOrModelChanged)
  }

  /// The agent's own commands, where it has told them.
  package func agentCommands() async -> [PiCommandList.Command] { await toldCommands() ?? [] }

  /// Nil: it does not say.
  package func toldCommands() async -> [PiCommandList.Command]? {
    if commands == nil, let connection,
      let answer = try? await connection.send(.getCommands, within: pi.answerTimeout),
      let list = try? answer.data(PiCommandList.self)
    {
      commands = list.commands
    }
    return commands
  }

  /// The models that the agent knows, with their providers; none while it sleeps, or does not say.
  package func modelNames() async -> [String] {
    guard let connection, let answer = try? await connection.send(.getAvailableModels, within: pi.answerTimeout),
      let models = try? answer.data(PiModelList.self).models
    else { return [] }
    return models.map { ($0.provider.map { "\($0)/" } ?? "") + $0.id }
  }

  /// Ends an idle agent to make room; it is started again when needed. False when it is not idle.
  package func makeRoom() async -> Bool {
    guard isIdle else { return false }
    await stopAgent()
    return true
  }

  /// Ends the session: what waits is dropped, what runs is stopped, and both are told.
  package func close() async {
    closed = true
    let dropped = queue
    queue = []
    run?.prompt.life.take(.aborted)
    withdrawQuestions("the session was closed")
    wakes.close()
    slotRequest?.cancel()
    for work in dropped {
      switch work {
      case .prompt(var prompt):
        guard case .end(let conclusion)? = prompt.life.take(.aborted)?.next else { continue }
        await store(MessageEnd(prompt.key, conclusion))
        emit(.runEnded(prompt.key, .aborted, conclusion))
      case .compact(_, let continuation): continuation.resume(returning: "The session was closed.")
      }
    }
    await stopAgent()
    // The run in progress still has to say how it ended.
    if !workIsOver { await withCheckedContinuation { workWaiters.append($0) } }
    do { try memory?.forget() } catch {
      dependencies.log("session \(name): what was said could not be removed: \(error)")
    }
  }

  /// The daemon is about to end: what cannot begin any more is no failure.
  func willPark() {
    isParked = true
    run?.prompt.life.take(.shutDown)
  }

  /// The messages of an instance that will not be back: nobody is left to say what is to become of them.
  package func drop(instance: String) async {
    let gone = queue.compactMap { work -> Prompt? in
      guard case .prompt(let prompt) = work, prompt.key.conversation.instance == instance else { return nil }
      return prompt
    }
    queue.removeAll { work in
      if case .prompt(let prompt) = work { gone.contains { $0.key == prompt.key } } else { false }
    }
    for var prompt in gone {
      guard case .end(let conclusion)? = prompt.life.take(.aborted)?.next else { continue }
      await store(MessageEnd(prompt.key, conclusion))
      emit(.messageWithdrawn(prompt.key))
    }
    guard let prompt = run?.prompt, prompt.key.conversation.instance == instance, awaitsDecision else { return }
    run?.prompt.life.take(.aborted)
    withdrawQuestions("who was asked is gone")
  }

  /// Ends the agent because the daemon ends. What waits, or is not known to be with the agent, is found by the next
  /// daemon. Answers what was cut short, in words; nil when nothing was.
  func park() async -> String? {
    let isRunning = run?.accepted == true
    closed = true
    isParked = true
    run?.prompt.life.take(.shutDown)
    for case .compact(_, let continuation) in queue { continuation.resume(returning: nil) }
    queue = []
    withdrawQuestions("pi-relayd is stopping; it asks again after the next start")
    wakes.close()
    slotRequest?.cancel()
    cancelDialogs("pi-relayd is stopping, and the agent with it")
    await stopAgent()
    if !workIsOver { await withCheckedContinuation { workWaiters.append($0) } }
    return isRunning ? "session \(name): the running answer was cut short" : nil
  }

  /// Stores the end of a message.
  func store(_ end: MessageEnd) async {
    do {
      try await dependencies.store.end(end)
    } catch {
      dependencies.log("session \(name): the end of a message could not be stored: \(error)")
    }
  }

  func advance(_ message: MessageKey, _ change: StageChange) async {
    do {
      try await dependencies.store.advance(message, change, in: id)
    } catch {
      dependencies.log("session \(name): the state of a message could not be stored: \(error)")
    }
  }
}
