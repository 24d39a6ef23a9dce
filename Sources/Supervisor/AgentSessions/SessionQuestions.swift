internal import AgentRuntime
internal import Logging
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayTransport
internal import RelayWire
internal import SessionStates

/// The questions of one session to the person: the agent's, which end with its process, and the session's own, which wait
/// for a decision about a message or about a silent agent. Belongs to the session's actor.
final class SessionQuestions {
  private var questions = QuestionSet()
  private let context: SessionContext

  init(_ context: SessionContext) { self.context = context }

  var count: Int { questions.count }
  var isEmpty: Bool { questions.isEmpty }
  /// The agent waits for an answer.
  var hasDialogs: Bool { questions.hasDialogs }
  var hasOwn: Bool { questions.hasOwn }
  var awaitsDecision: Bool { questions.awaitsDecision }
  /// The open question about an agent that says nothing.
  var silence: String? { questions.silence }

  private var timeSource: TimeSource { context.dependencies.timeSource }

  static func unanswered(for limit: Duration) -> String { "nobody answered within \(limit.forPeople)" }

  private func expire(
    after limit: Duration, for session: isolated Session,
    _ body: @escaping @Sendable (isolated Session) -> Void
  ) {
    context.taskScope.add(on: EventLoop.shared) { [timeSource] in
      if await timeSource.sleep(for: max(.zero, limit)) { await session.run(body) }
    }
  }

  // MARK: - The agent's

  /// Keeps a question of the agent until it is answered, withdrawn or expired.
  ///
  /// - Parameter waited: how long it had waited in earlier processes.
  func keepOpen(_ dialog: PiDialog, waited: Duration = .zero, for session: isolated Session) {
    questions.open(dialog, began: timeSource.now() - waited)
    if let timeout = dialog.timeout {
      expire(after: .milliseconds(timeout) - waited, for: session) { $0.questions.expire(dialog.id, for: $0) }
    } else if let limit = context.settings.questionTimeout {
      expire(after: limit - waited, for: session) {
        $0.questions.cancelUnanswered(dialog.id, after: limit, for: $0)
      }
    }
  }

  /// Withdraws a question whose time is over: pi has answered by itself.
  private func expire(_ dialog: String, for session: isolated Session) {
    guard questions.isOpen(dialog) else { return }
    withdraw(dialog, "it took too long")
    session.resumeHandling()
  }

  /// Cancels a question that nobody has answered, since pi would wait for ever.
  private func cancelUnanswered(_ dialog: String, after limit: Duration, for session: isolated Session) {
    guard questions.isOpen(dialog), let connection = session.connection else { return }
    cancel(dialog, connection)
    withdraw(dialog, Self.unanswered(for: limit))
    session.resumeHandling()
  }

  /// Takes a question of the agent out, to answer it.
  ///
  /// - Returns: false when the agent no longer waits for this answer.
  func closeDialog(_ id: String) -> Bool { questions.closeDialog(id) }

  @discardableResult
  func answer(_ dialog: String, _ answer: PiDialogAnswer, _ connection: PiConnection) -> Bool {
    do {
      try connection.answer(dialog, answer)
      return true
    } catch {
      context.logger.warning("an answer could not be given: \(error)")
      return false
    }
  }

  func cancel(_ dialog: String, _ connection: PiConnection) { answer(dialog, .cancelled, connection) }

  /// Takes back a question of the agent, if it is open.
  func withdraw(_ dialog: String, _ why: String) {
    guard questions.closeDialog(dialog) else { return }
    context.emit(.dialogWithdrawn(id: dialog, why: why))
  }

  func withdrawDialogs(_ why: String) {
    for one in questions.openDialogs { withdraw(one.dialog.id, why) }
  }

  /// Takes back every question of the agent, and tells pi that no answer comes.
  func cancelDialogs(_ why: String, _ connection: PiConnection?) {
    if let connection { for one in questions.openDialogs { cancel(one.dialog.id, connection) } }
    withdrawDialogs(why)
  }

  // MARK: - The session's own

  /// An id for a question of the session's own.
  func nextID() -> String { questions.nextID() }

  /// Asks the person something of the session's own.
  ///
  /// - Parameters:
  ///   - title: stays when the question is settled.
  ///   - details: shown with the question, while it is open.
  ///   - id: from `nextID`, where somebody else may withdraw the question.
  ///   - message: the message that the question is about.
  /// - Returns: the answer; `nil` when the question was withdrawn or cancelled, or has expired.
  func ask(
    _ question: SupervisorQuestion, _ title: String, details: String? = nil, id: String? = nil,
    about message: MessageKey?, for session: isolated Session
  ) async -> SupervisorQuestion.Answer? {
    let id = id ?? questions.nextID()
    let dialog = PiDialog(
      id: id, kind: .select, title: title, message: details, options: question.answers.map(\.label))
    if let limit = context.settings.questionTimeout {
      expire(after: limit, for: session) { $0.questions.withdrawOwn(id, Self.unanswered(for: limit)) }
    }
    return await open(question, dialog, about: message, for: session).answer
  }

  private func open(
    _ question: SupervisorQuestion, _ dialog: PiDialog, about message: MessageKey?, for session: isolated Session
  ) async -> QuestionSet.Reply {
    await withCheckedContinuation { continuation in
      guard session.mayAsk else { return continuation.resume(returning: .withdrawn("the run is being stopped")) }
      // A caller that is cancelled from here on finds the question and takes it back.
      if Task.isCancelled { return continuation.resume(returning: .withdrawn(Session.nobodyWaits)) }
      // Before anybody is shown it: an answer may come at once.
      questions.ask(dialog.id, QuestionSet.Own(question: question) { continuation.resume(returning: $0) })
      context.emit(.dialogOpened(Question(dialog, origin: .supervisor(question)), of: message))
    }
  }

  /// Asks the requester whether a tool call may be made.
  func askApproval(
    _ question: ApprovalQuestion, _ title: String, details: String, within limit: Duration,
    for session: isolated Session
  ) async -> QuestionSet.Reply {
    let asked = SupervisorQuestion.approval(question)
    let dialog = PiDialog(
      id: question.id, kind: .select, title: title, message: details, options: asked.answers.map(\.label),
      timeout: Int64(limit / .milliseconds(1)))
    expire(after: limit, for: session) {
      $0.questions.endOwn(question.id, .expired, "nobody decided within \(limit.forPeople)")
    }
    return await open(asked, dialog, about: session.current.run?.prompt.key, for: session)
  }

  func withdrawApprovals(_ why: String) {
    for id in questions.approvalIDs { withdrawOwn(id, why) }
  }

  /// Answers a question of the session's own; false where there is none with this id.
  func answerOwn(_ id: String, _ answer: PiDialogAnswer) -> Bool {
    guard let own = questions.takeOwn(id) else { return false }
    if case .value(let label) = answer, let choice = own.question.answer(labelled: label) {
      own.answer(.answered(choice))
    } else {
      own.answer(.dismissed)
    }
    return true
  }

  func withdrawOwn(_ id: String, _ why: String) { endOwn(id, .withdrawn(why), why) }

  private func endOwn(_ id: String, _ reply: QuestionSet.Reply, _ why: String) {
    guard let question = questions.takeOwn(id) else { return }
    context.emit(.dialogWithdrawn(id: id, why: why))
    question.answer(reply)
  }

  func withdrawAllOwn(_ why: String) {
    for id in questions.ownIDs { withdrawOwn(id, why) }
  }

  /// Tries again what waits because there was no agent.
  func tryAgain() {
    for id in questions.ownIDs where questions.own(id)?.question == .message(.agentUnavailable) {
      guard let question = questions.takeOwn(id) else { continue }
      context.emit(.dialogWithdrawn(id: id, why: "the agent is back"))
      question.answer(.answered(.message(.tryAgain)))
    }
  }

  // MARK: - Upgrade

  /// The agent's open questions, and how long each has waited.
  func handedOver() -> (dialogs: [PiDialog], waited: [String: Duration]) {
    let now = timeSource.now()
    let dialogs = questions.openDialogs
    return (
      dialogs.map(\.dialog), Dictionary(uniqueKeysWithValues: dialogs.map { ($0.dialog.id, now - $0.began) })
    )
  }
}
