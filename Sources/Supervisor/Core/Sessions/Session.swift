internal import DequeModule
internal import Glibc
package import PiRPC
package import RelayConfig
internal import RelayPipes
package import RelayStore
internal import RelayWire

/// One session of the agent: a queue of messages, and a pi process started when there is one to work on.
///
/// At most one prompt is with pi at a time; follow-ups wait here, where they can still be changed, and where a crash
/// of pi cannot lose them.
package actor Session {
  package let id: String
  private(set) package var name: String
  package let directory: String
  private var model: String?
  private let settings: Config.Sessions
  private let pi: Config.Pi
  private let wantsToolImages: Bool
  private let surroundings: SessionSurroundings
  private let nursery: Nursery
  private let emit: @Sendable (SessionEvent) -> Void

  private enum Work: Sendable {
    case prompt(Prompt)
    case compact(String?, CheckedContinuation<String, Never>)
  }

  private var queue: Deque<Work> = []
  private let wakes = Mailbox<Void>(merge: { _, _ in true })
  private var closed = false
  private var activity = SessionStatus.Activity.stopped
  private var connection: PiConnection?
  private var state: PiState?
  private var agent: AgentProgram?
  private var run: SessionRun?
  private var runWaiter: CheckedContinuation<Ending, Never>?
  /// Counts what may end a run by itself, so that an old timer does not.
  private var generation = 0
  private var openDialogs: [String: PiDialog] = [:]
  private var restarts = 0
  private var settles: Bool?
  private var commands: [PiCommandList.Command] = []

  private enum Ending: Sendable {
    case ended(RunEnd)
    case died(ChildExit, String?)
  }

  /// How long a run of an older pi must be quiet after `agent_end` to be over: retries and compactions start at once.
  static let quietAfterEnd: Duration = .milliseconds(150)
  static let abortLimit: Duration = .seconds(10)

  package init(
    id: String, name: String, directory: String, model: String?, wantsToolImages: Bool, pi: Config.Pi,
    settings: Config.Sessions, surroundings: SessionSurroundings, nursery: Nursery,
    emit: @escaping @Sendable (SessionEvent) -> Void
  ) {
    self.id = id
    self.name = name
    self.directory = directory
    self.model = model ?? pi.model
    self.wantsToolImages = wantsToolImages
    self.pi = pi
    self.settings = settings
    self.surroundings = surroundings
    self.nursery = nursery
    self.emit = emit
  }

  package func status() -> SessionStatus {
    SessionStatus(
      id: id, name: name, directory: directory, activity: activity,
      model: state?.model.map { $0.name ?? $0.id } ?? model, pid: connection?.child.pid, queued: queue.count,
      openDialogs: openDialogs.count, sessionFile: state?.sessionFile, restarts: restarts,
      isDemo: agent?.isDemo ?? false)
  }

  package var isIdle: Bool { activity == .idle && queue.isEmpty }
  package var isBusy: Bool { run != nil || activity == .compacting || !queue.isEmpty }

  // MARK: - Wishes from outside

  package enum Enqueued: Sendable, Equatable {
    /// Work begins at once.
    case next
    /// It waits behind this many.
    case queued(Int)
    case full(Int)
  }

  /// Takes a message; it runs when everything before it has.
  package func enqueue(_ prompt: Prompt) -> Enqueued {
    guard queue.count < settings.maximumQueued else { return .full(queue.count) }
    let before = queue.count + (run == nil && activity != .compacting ? 0 : 1)
    queue.append(.prompt(prompt))
    wakes.post(())
    return before == 0 ? .next : .queued(before)
  }

  /// Gives a message to the run in progress; false when there is none to steer.
  package func steer(_ prompt: Prompt) async -> Bool {
    guard run != nil, run?.aborting == false, let connection else { return false }
    let prepared = await surroundings.prepare(prompt)
    guard run != nil, self.connection === connection else { return false }
    run?.steering.append(prompt)
    let command = PiCommand.steer(prepared.text, images: prepared.images)
    let answer = try? await connection.send(command, within: pi.answerTimeout)
    if answer?.success == true { return true }
    // Refused or unknown: it goes the other way, unless pi has shown that it took it.
    guard let index = run?.steering.firstIndex(of: prompt) else { return true }
    run?.steering.remove(at: index)
    return false
  }

  /// Replaces the text of a message that has not started; false when it has.
  package func replace(_ key: MessageKey, text: String, typed: String) -> Bool {
    for index in queue.indices {
      if case .prompt(var prompt) = queue[index], prompt.key == key {
        prompt.text = text
        prompt.typed = typed
        queue[index] = .prompt(prompt)
        return true
      }
    }
    return false
  }

  /// Withdraws a message that has not started; false when it has.
  package func withdraw(_ key: MessageKey) async -> Bool {
    for index in queue.indices {
      if case .prompt(let prompt) = queue[index], prompt.key == key {
        queue.remove(at: index)
        await advance(prompt, .dropped)
        return true
      }
    }
    return false
  }

  /// Interrupts the run; false when there is none. Waiting messages run next.
  package func abort() async -> Bool {
    guard run != nil, let connection else { return false }
    run?.aborting = true
    for dialog in openDialogs.keys { answerQuietly(dialog, .cancelled, connection) }
    withdrawDialogs("the run was stopped")
    let steering = run?.steering ?? []
    run?.steering = []
    for prompt in steering { await advance(prompt, .dropped) }
    // Newer releases keep a queue of their own; older ones do not know the command.
    _ = try? await connection.send(.clearQueue, within: Self.abortLimit)
    nursery.add { [self] in await endAbort(connection) }
    return true
  }

  private func endAbort(_ connection: PiConnection) async {
    do {
      _ = try await connection.send(.abort, within: Self.abortLimit)
    } catch .timedOut {
      surroundings.log("session \(name): pi did not stop within \(Self.abortLimit) and is ended")
      connection.child.signal(SIGKILL)
    } catch {
      // It has ended: the run has too.
    }
  }

  /// Answers a question of the agent; false when it no longer waits.
  package func answer(_ dialog: String, _ answer: PiDialogAnswer) -> Bool {
    guard let connection, openDialogs.removeValue(forKey: dialog) != nil else { return false }
    return answerQuietly(dialog, answer, connection)
  }

  @discardableResult
  private func answerQuietly(_ dialog: String, _ answer: PiDialogAnswer, _ connection: PiConnection) -> Bool {
    do {
      try connection.answer(dialog, answer)
      return true
    } catch {
      surroundings.log("session \(name): an answer could not be given: \(error)")
      return false
    }
  }

  /// Shortens the session's context, when everything before has run. Answers with words for the person.
  package func compact(_ instructions: String?) async -> String {
    await withCheckedContinuation { continuation in
      queue.append(.compact(instructions, continuation))
      wakes.post(())
    }
  }

  package func rename(_ new: String) async {
    name = new
    guard let connection else { return }
    _ = try? await connection.send(.setSessionName(new), within: pi.answerTimeout)
  }

  /// Uses another model from the next run on: the idle agent is started anew with it. `set_model` would change the
  /// person's own settings.
  package func use(model new: String) async {
    model = new
    if run == nil, activity == .idle { await stopAgent() } else { restartsForModel = true }
  }

  private var restartsForModel = false

  /// The agent's own commands, where it has told them.
  package func agentCommands() async -> [PiCommandList.Command] {
    if commands.isEmpty, let connection,
      let answer = try? await connection.send(.getCommands, within: pi.answerTimeout),
      let list = try? answer.data(PiCommandList.self)
    {
      commands = list.commands
    }
    return commands
  }

  package func availableModels() async -> [PiState.Model]? {
    guard let connection, let answer = try? await connection.send(.getAvailableModels, within: pi.answerTimeout) else {
      return nil
    }
    return try? answer.data(PiModelList.self).models
  }

  /// Ends an idle agent to make room; it is started again when needed. False when it is not idle.
  package func makeRoom() async -> Bool {
    guard isIdle else { return false }
    await stopAgent()
    return true
  }

  /// Ends the session: what waits is dropped, the agent ended.
  package func close() async {
    closed = true
    for work in queue {
      switch work {
      case .prompt(let prompt): await advance(prompt, .dropped)
      case .compact(_, let continuation): continuation.resume(returning: "The session was closed.")
      }
    }
    queue = []
    wakes.close()
    await stopAgent()
  }

  // MARK: - The loop of work

  /// Runs until `close`.
  package func work() async {
    while !closed {
      guard let next = queue.first else {
        await waitForWork()
        continue
      }
      switch next {
      case .prompt(let prompt):
        queue.removeFirst()
        await perform(prompt)
      case .compact(let instructions, let continuation):
        queue.removeFirst()
        continuation.resume(returning: await performCompaction(instructions))
      }
      if restartsForModel, queue.isEmpty || run == nil {
        restartsForModel = false
        await stopAgent()
      }
    }
  }

  private func waitForWork() async {
    guard activity == .idle, let limit = settings.idleTimeout else {
      _ = await wakes.next()
      return
    }
    let wakes = wakes
    let woken: Void?? = try? await withDeadline(limit, clock: surroundings.timekeeper.clock) { await wakes.next() }
    if woken == nil, !closed, isIdle {
      surroundings.log("session \(name): idle for \(limit), its agent is ended until it is needed")
      await stopAgent()
    }
  }

  private func perform(_ prompt: Prompt) async {
    run = SessionRun(prompt: prompt)
    emit(.runStarted(prompt.key, text: prompt.typed))
    let connection: PiConnection
    do {
      connection = try await connected()
    } catch {
      await conclude(prompt, .failed("\(error)"), .dropped)
      return
    }
    let prepared = await surroundings.prepare(prompt)
    if let refusal = refusal(of: prepared) {
      await conclude(prompt, .failed(refusal), .dropped)
      return
    }
    guard run?.aborting == false else {
      await conclude(prompt, .aborted, .dropped)
      return
    }
    let last = await lastEntry(connection)
    await advance(prompt, .dispatching(session: id, after: last))
    let ending = await converse(connection, prepared)
    await finish(prompt, ending, after: last)
  }

  private func refusal(of prepared: PreparedPrompt) -> String? {
    guard !prepared.images.isEmpty, let model = state?.model, let input = model.input, !input.contains("image") else {
      return nil
    }
    return "The model \(model.name ?? model.id) takes no images, so the message was not sent. "
      + "Choose another with /model, or send it without the image."
  }

  /// Sends the prompt and waits until the run has ended one way or another.
  private func converse(_ connection: PiConnection, _ prepared: PreparedPrompt) async -> Ending {
    let limit = settings.callTimeout
    let timekeeper = surroundings.timekeeper
    generation += 1
    let mine = generation
    if let limit {
      nursery.add { [self] in
        if await timekeeper.sleep(for: limit) { await timeOut(mine, limit) }
      }
    }
    return await withCheckedContinuation { continuation in
      runWaiter = continuation
      nursery.add { [self] in await send(prepared, connection, mine) }
    }
  }

  private func send(_ prepared: PreparedPrompt, _ connection: PiConnection, _ mine: Int) async {
    do {
      let answer = try await connection.send(
        .prompt(prepared.text, images: prepared.images), within: pi.answerTimeout)
      guard generation == mine else { return }
      guard answer.success else {
        endRun(.ended(.failed(answer.error ?? "the agent refused the message without saying why")))
        return
      }
      try await settleHandled(connection, mine)
    } catch PiError.timedOut {
      guard generation == mine, run?.started != true else { return }
      surroundings.log("session \(name): pi took no message within \(pi.answerTimeout) and is ended")
      connection.child.signal(SIGKILL)
    } catch {
      // It has ended; `end` of its output says so.
    }
  }

  /// An extension's command may be handled without a run. pi's next answer comes after it would have started one.
  private func settleHandled(_ connection: PiConnection, _ mine: Int) async throws {
    guard run?.started != true else { return }
    let answer = try await connection.send(.getState, within: pi.answerTimeout)
    guard generation == mine, run?.started != true, try answer.data(PiState.self).isStreaming != true else { return }
    endRun(.ended(.handled))
  }

  private func timeOut(_ mine: Int, _ limit: Duration) async {
    guard generation == mine, run != nil else { return }
    emit(.notice("The run took longer than \(limit.formattedSeconds) and is stopped."))
    _ = await abort()
  }

  private func endRun(_ ending: Ending) {
    guard let waiter = runWaiter else { return }
    runWaiter = nil
    generation += 1
    waiter.resume(returning: ending)
  }

  private func finish(_ prompt: Prompt, _ ending: Ending, after last: String?) async {
    let finished = run
    switch ending {
    case .ended(let end):
      // A refusal was not taken; anything else was.
      let stage: MessageStage = finished?.accepted == true || end == .handled ? .settled : .dropped
      await conclude(prompt, end, stage)
    case .died(let exit, let words):
      restarts += 1
      let why = "\(exit)" + (words.map { ": \($0)" } ?? "")
      surroundings.log("session \(name): pi ended in mid-run with \(why)")
      requeue(finished?.steering ?? [])
      let accepted: Bool
      if finished?.accepted == true { accepted = true } else { accepted = await sessionHolds(after: last) }
      if accepted {
        await conclude(
          prompt,
          .failed(
            "The agent ended unexpectedly (\(why)). What it had said is above; it is not run again by itself. "
              + "The session goes on with your next message."), .interrupted)
      } else {
        await retry(prompt, why)
      }
    }
  }

  /// The agent had not taken the message: it is sent again, once.
  private func retry(_ prompt: Prompt, _ why: String) async {
    var again = prompt
    again.attempts += 1
    if again.attempts >= 2 {
      await conclude(
        prompt,
        .failed(
          "The agent ended twice (\(why)) before it took this message, so the message was set aside: "
            + prompt.typed.prefix(200)), .dropped)
      return
    }
    run = nil
    emit(.notice("The agent ended (\(why)) before it took the message; it is started again."))
    queue.prepend(.prompt(again))
  }

  private func requeue(_ steering: [Prompt]) {
    for prompt in steering.reversed() { queue.prepend(.prompt(prompt)) }
  }

  private func conclude(_ prompt: Prompt, _ end: RunEnd, _ stage: MessageStage) async {
    for taken in run?.takeTaken() ?? [] { await advance(taken, .settled) }
    requeue(run?.steering ?? [])
    run = nil
    if connection != nil { activity = .idle }
    withdrawDialogs("the run has ended")
    await advance(prompt, stage)
    emit(.runEnded(prompt.key, end))
  }

  private func advance(_ prompt: Prompt, _ stage: MessageStage) async {
    do {
      try await surroundings.store.advance(prompt.key, to: stage)
    } catch {
      surroundings.log("session \(name): the state of a message could not be stored: \(error)")
    }
  }

  private func performCompaction(_ instructions: String?) async -> String {
    do {
      let connection = try await connected()
      activity = .compacting
      defer { activity = self.connection == nil ? .stopped : .idle }
      let answer = try await connection.send(.compact(instructions: instructions), within: .seconds(300))
      return answer.success ? "The context was compacted." : "Not compacted: \(answer.error ?? "the agent refused")"
    } catch {
      return "Not compacted: \(error)"
    }
  }

  // MARK: - The agent's process

  private func connected() async throws -> PiConnection {
    if let connection, !connection.child.hasEnded { return connection }
    connection = nil
    activity = .starting
    let place = await surroundings.places.enter()
    do {
      let connection = try await start(place)
      await surroundings.places.started()
      activity = .idle
      return connection
    } catch {
      await surroundings.places.started()
      await surroundings.places.ended(place)
      connection = nil
      activity = .stopped
      throw error
    }
  }

  private func start(_ place: Int) async throws -> PiConnection {
    let firstUse = agent == nil
    let program = try await surroundings.agents.program()
    agent = program
    let launch = SessionLaunch(
      program: program, pi: pi, id: id, model: model, directory: directory, folders: surroundings.folders)
    try launch.prepare()
    let log = LogFile(path: surroundings.folders.log("session-\(id)"), limits: surroundings.logLimits)
    let marker = "PI_RELAY_SESSION=\(id)"
    let connection = try PiConnection(
      .init(
        name: "session \(name)", path: program.path, arguments: launch.arguments,
        environment: ChildEnvironment.agent(
          from: surroundings.environment, secrets: secrets, additions: launch.environment,
          markers: [marker] + (surroundings.guardian.map { [$0.marker] } ?? [])),
        directory: directory),
      guardian: surroundings.guardian, log: log, wantsToolImages: wantsToolImages,
      clock: surroundings.timekeeper.clock)
    self.connection = connection
    nursery.add { [self] in await listen(to: connection, marker: marker, place: place) }
    let answer: PiResponse
    do {
      answer = try await connection.send(.getState, within: pi.answerTimeout)
    } catch {
      let exit = await connection.stop(grace: .seconds(1))
      throw AgentUnavailable(
        description: "the agent did not start (\(exit)\(connection.lastWord.map { ": \($0)" } ?? "")); "
          + "see pi-relayd logs session-\(id)")
    }
    state = try? answer.data(PiState.self)
    if let reason = program.demoReason, firstUse {
      emit(.notice("This is the demo agent, not a real one: \(reason)"))
    }
    return connection
  }

  private var secrets: Set<String> { surroundings.secretVariables }

  private func stopAgent() async {
    guard let connection else { return }
    self.connection = nil
    activity = .stopped
    await connection.stop()
  }

  /// The session's last entry, so that after a crash it can be told what has come after.
  private func lastEntry(_ connection: PiConnection) async -> String? {
    guard agent?.takesSessionID == true else { return nil }
    let answer = try? await connection.send(.getEntries(since: nil), within: pi.answerTimeout)
    return try? answer?.data(PiEntries.self).leafId
  }

  /// Whether the session holds a message of the person newer than `last`: then the agent had taken it.
  private func sessionHolds(after last: String?) async -> Bool {
    guard let connection = try? await connected(),
      let answer = try? await connection.send(.getEntries(since: last), within: pi.answerTimeout), answer.success,
      let entries = try? answer.data(PiEntries.self)
    else { return false }
    return last == nil ? false : entries.holdUserMessage
  }

  // MARK: - What pi says

  private func listen(to connection: PiConnection, marker: String, place: Int) async {
    while let item = await connection.incoming.next() {
      switch item {
      case .text(let text):
        run?.shownText = true
        emit(.text(text))
      case .event(let event): await take(event, connection)
      case .end: break
      }
    }
    let exit = await connection.child.tearDown([.wait(.seconds(2))], clock: surroundings.timekeeper.clock)
    if settings.leftovers == .kill { _ = surroundings.guardian?.endLeftovers(of: marker, signal: SIGKILL) }
    await surroundings.places.ended(place)
    ended(connection, exit)
  }

  private func ended(_ connection: PiConnection, _ exit: ChildExit) {
    guard self.connection === connection || self.connection == nil else { return }
    self.connection = nil
    activity = .stopped
    withdrawDialogs("the agent has ended")
    endRun(.died(exit, connection.lastWord))
    wakes.post(())
  }

  private func take(_ event: PiEvent, _ connection: PiConnection) async {
    if run != nil, SessionRun.continues(event) { generation += 1 }
    if activity != .compacting, run != nil, case .agentStart = event { activity = .working }
    let settles = self.settles ?? connection.sendsWholeMessages.map { !$0 }
    if case .agentEnd(.some) = event { self.settles = true }
    let wasAccepted = run?.accepted ?? false
    let verdict = run?.take(event, settles: settles) ?? .goesOn
    if !wasAccepted, run?.accepted == true, let prompt = run?.prompt {
      await advance(prompt, .accepted(session: id))
    }
    for taken in run?.takeTaken() ?? [] { await advance(taken, .settled) }
    report(event)
    switch verdict {
    case .goesOn: break
    case .over(let end): endRun(.ended(end))
    case .overUnlessContinued: endWhenQuiet()
    }
  }

  private func endWhenQuiet() {
    generation += 1
    let mine = generation
    let timekeeper = surroundings.timekeeper
    nursery.add { [self] in
      if await timekeeper.sleep(for: Self.quietAfterEnd) { await endQuietly(mine) }
    }
  }

  private func endQuietly(_ mine: Int) {
    guard generation == mine, let run else { return }
    endRun(.ended(run.end))
  }

  private func report(_ event: PiEvent) {
    switch event {
    case .messageEnd(let message) where message.role == "assistant": emit(.messageEnded(message))
    case .toolStart(let id, let name, let arguments): emit(.toolStarted(id: id, name: name, arguments: arguments))
    case .toolEnd(let id, let name, let failed, let images):
      emit(.toolEnded(id: id, name: name, failed: failed, images: images))
    case .dialog(let dialog):
      openDialogs[dialog.id] = dialog
      emit(.dialogOpened(dialog))
      if let timeout = dialog.timeout { expire(dialog.id, after: .milliseconds(timeout)) }
    case .notify(let message, let kind): emit(.notice(NoticeText.notify(message, kind: kind)))
    case .response(let response):
      if !response.success, run?.accepted == false {
        endRun(.ended(.failed(response.error ?? "the agent refused the message")))
      }
    case .sessionName(let name?): if !name.isEmpty { self.name = name }
    default: if let text = NoticeText.of(event) { emit(.notice(text)) }
    }
  }

  private func expire(_ dialog: String, after limit: Duration) {
    let timekeeper = surroundings.timekeeper
    nursery.add { [self] in
      if await timekeeper.sleep(for: limit) { await withdraw(dialog: dialog, why: "it took too long") }
    }
  }

  private func withdraw(dialog: String, why: String) {
    guard openDialogs.removeValue(forKey: dialog) != nil else { return }
    emit(.dialogWithdrawn(id: dialog, why: why))
  }

  private func withdrawDialogs(_ why: String) {
    for dialog in openDialogs.keys { withdraw(dialog: dialog, why: why) }
  }
}

extension Duration {
  /// For people: `1.5 s`, `90 s`.
  var formattedSeconds: String {
    let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
    return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(Double(Int(seconds * 10)) / 10) s"
  }
}
