internal import AgentSessions
package import ConversationSessions
package import Conversations
internal import PiRPC
package import RelayConcurrency
internal import RelayConfig
package import RelayModel
package import RelayWire
package import SessionCatalog
internal import SessionStates

/// The operations on sessions for programs that are no messengers. A session is named by its id, its name or the
/// beginning of one.
package final class SessionCommands: Sendable {
  private let sessions: SessionRegistry
  private let bindings: SessionBindings
  private let subscriptions: SessionSubscriptions
  private let questions: QuestionRegistry
  private let prompts: PromptRouter
  private let messages: ProgramMessages
  private let gate: ProgramGate
  private let taskScope: TaskScope
  private let timeSource: TimeSource

  /// The name under which people are told of an answer.
  private static let answerer = "a program"

  package init(
    sessions: SessionRegistry, bindings: SessionBindings, subscriptions: SessionSubscriptions,
    questions: QuestionRegistry, prompts: PromptRouter, messages: ProgramMessages, gate: ProgramGate,
    taskScope: TaskScope, timeSource: TimeSource
  ) {
    self.sessions = sessions
    self.bindings = bindings
    self.subscriptions = subscriptions
    self.questions = questions
    self.prompts = prompts
    self.messages = messages
    self.gate = gate
    self.taskScope = taskScope
    self.timeSource = timeSource
  }

  // MARK: - Looking

  package func list() async -> [SessionStatus] { await sessions.statuses() }

  /// The session that a name, an id or the beginning of one means.
  package func status(_ name: String) async throws(WireError) -> SessionStatus {
    if let one = await sessions.listing(name) { return await one.status() }
    let all = await list()
    let wish = name.lowercased()
    let named = all.filter { $0.name.lowercased() == wish }
    let found =
      named.isEmpty && !wish.isEmpty
      ? all.filter { $0.name.lowercased().hasPrefix(wish) || $0.id.hasPrefix(wish) } : named
    guard let one = found.first else {
      throw WireError(.invalidParams, "session: there is no session \(name); pi-relayd sessions lists them")
    }
    guard found.count == 1 else {
      let names = found.map { "\($0.name) (\($0.id))" }.joined(separator: ", ")
      throw WireError(.invalidParams, "session: \(name) may be any of \(names)")
    }
    return one
  }

  private func session(_ name: String) async throws(WireError) -> Session {
    let id = try await status(name).id
    guard let session = await sessions.session(id) else {
      throw WireError(.invalidParams, "session: \(name) was closed meanwhile")
    }
    return session
  }

  /// The open questions of a session, oldest first.
  package func questions(of name: String) async throws(WireError) -> [OpenQuestion] {
    questions.all(of: try await status(name).id).map(OpenQuestion.init)
  }

  /// Begins to gather the events of a session.
  package func feed(of name: String) async throws(WireError) -> SessionFeed {
    SessionFeed(try await status(name).id, subscriptions, timeSource)
  }

  /// Calls `told`, which must not wait, at each moment of a session from now on.
  ///
  /// - Returns: a function that ends this.
  package func follow(
    _ session: String, _ told: @escaping @Sendable (SessionMoment) -> Void
  ) -> @Sendable () -> Void {
    let number = subscriptions.observe(session) { if let moment = SessionMoment($0) { told(moment) } }
    return { [subscriptions] in subscriptions.endObservation(number, of: session) }
  }

  // MARK: - Acting

  /// - Returns: the acknowledgement, once the message is stored.
  package func prompt(_ request: ProgramPrompt) async throws(WireError) -> PromptReceipt {
    try await gate.pass { () async throws(WireError) in
      try await messages.submit(request, to: session(request.session))
    }
  }

  /// Interrupts what the agent is doing. Messages that wait run next.
  ///
  /// - Returns: what was stopped: `nothing`, `run` or `compaction`.
  package func abort(_ name: String) async throws(WireError) -> String {
    try await gate.pass { () async throws(WireError) in
      switch try await session(name).abort() {
      case .nothing: "nothing"
      case .run: "run"
      case .compaction: "compaction"
      }
    }
  }

  /// Answers a question.
  ///
  /// - Parameters:
  ///   - question: `nil` for the one that has waited longest.
  ///   - text: `nil` cancels it.
  /// - Returns: the answer as it was understood.
  package func answer(_ name: String, question: String?, _ text: String?) async throws(WireError) -> String {
    try await gate.pass { () async throws(WireError) in
      let session = try await session(name)
      let open = questions.all(of: session.id)
      guard let record = question == nil ? open.first : open.first(where: { $0.id == question }) else {
        throw WireError(
          .invalidParams,
          question.map { "question: there is no open question \($0)" } ?? "session: \(name) asks nothing now")
      }
      switch record.read(text ?? "/cancel") {
      case .unclear(let hint): throw WireError(.invalidParams, "answer: \(hint)")
      case .answer(let answer, let label):
        guard questions.claim(record.id) != nil else {
          throw WireError(.invalidParams, "question: it is already settled")
        }
        guard await session.answer(record.dialog.id, answer) else {
          subscriptions.settleQuestion(record, .unanswered(why: "the agent no longer waits for an answer"))
          throw WireError(.invalidParams, "question: the agent no longer waits for an answer")
        }
        subscriptions.settleQuestion(record, .answered(label, by: Self.answerer))
        return label
      }
    }
  }

  /// - Returns: the name that the session has now: another has the one that was wished for.
  package func rename(_ name: String, to new: String) async throws(WireError) -> String {
    guard !new.trimmingWhitespace().isEmpty else { throw WireError(.invalidParams, "name: it is empty") }
    return try await gate.pass { () async throws(WireError) in
      let session = try await session(name)
      return await sessions.rename(
        session, to: new, from: ConversationKey(instance: ConversationKey.programs, conversation: session.id))
    }
  }

  /// Uses another model from the next run on.
  package func use(model: String, in name: String) async throws(WireError) {
    guard !model.trimmingWhitespace().isEmpty else { throw WireError(.invalidParams, "model: it is empty") }
    try await gate.pass { () async throws(WireError) in
      await sessions.use(model: model, in: try session(name))
    }
  }

  /// Shortens a session's context when everything before has run; its events tell of the end.
  package func compact(_ name: String, keeping instructions: String?) async throws(WireError) {
    try await gate.pass { () async throws(WireError) in
      let session = try await session(name)
      taskScope.add { _ = await session.compact(instructions) }
    }
  }

  /// Ends a session: what waits in it is dropped, what runs is stopped.
  package func close(_ name: String) async throws(WireError) {
    try await gate.pass { () async throws(WireError) in
      let session = try await session(name)
      await sessions.close(session)
      await bindings.unbindAll(from: session)
    }
  }

  /// Begins a session.
  ///
  /// - Parameters:
  ///   - directory: `nil` for the configured one; another must be within `sessions.roots`.
  ///   - task: its first message.
  package func create(
    directory: String?, name: String?, model: String?, task: String?
  ) async throws(WireError) -> SessionStatus {
    try await create(directory: directory, name: name, model: model, task: task, beside: nil)
  }

  /// - Parameter own: the folder of the session whose agent asks, which needs no root.
  package func create(
    directory: String?, name: String?, model: String?, task: String?, beside own: String?
  ) async throws(WireError) -> SessionStatus {
    try await gate.pass { () async throws(WireError) in
      var folder: String?
      if let directory {
        folder = directory == own ? own : await sessions.workplace(directory)
        guard folder != nil else {
          throw WireError(
            .invalidParams, "directory: \(directory) is no folder beneath sessions.roots; list its parent in relay.yaml"
          )
        }
      }
      let session = await sessions.create(name: name, directory: folder, model: model, emit: prompts.emit)
      if let task { _ = try await messages.submit(ProgramPrompt(session: session.id, text: task), to: session) }
      return await session.status()
    }
  }
}
