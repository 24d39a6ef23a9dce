internal import AgentRuntime
internal import Logging
package import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayTransport
internal import RelayWire
internal import SessionStates

// Questions to the person: the agent's, which end with its process, and the session's own, which wait for a decision about
// a message or about a silent agent.
extension Session {
  /// Answers a question; false when it no longer waits.
  package func answer(_ id: String, _ answer: PiDialogAnswer) -> Bool {
    if let own = questions.takeOwn(id) {
      if case .value(let label) = answer { own.answer(own.question.answer(labelled: label)) } else { own.answer(nil) }
      return true
    }
    guard let connection, questions.closeDialog(id) else { return false }
    let given = answerQuietly(id, answer, connection)
    resumeHandling()
    return given
  }

  @discardableResult
  private func answerQuietly(_ dialog: String, _ answer: PiDialogAnswer, _ connection: PiConnection) -> Bool {
    do {
      try connection.answer(dialog, answer)
      return true
    } catch {
      logger.warning("an answer could not be given: \(error)")
      return false
    }
  }

  // MARK: - The agent's

  func open(_ dialog: PiDialog, _ connection: PiConnection) {
    // A run that is being stopped asks nothing any more: abort would wait for the answer.
    if current.run?.aborting == true {
      answerQuietly(dialog.id, .cancelled, connection)
      return
    }
    keepOpen(dialog)
    emit(.dialogOpened(Question(dialog, origin: .agent), of: current.run?.prompt.key))
  }

  /// - Parameter waited: how long it had waited in earlier processes.
  func keepOpen(_ dialog: PiDialog, waited: Duration = .zero) {
    questions.open(dialog, began: dependencies.timeSource.now() - waited)
    if let timeout = dialog.timeout {
      expire(after: .milliseconds(timeout) - waited) { await $0.expire(dialog.id) }
    } else if let limit = settings.questionTimeout {
      expire(after: limit - waited) { await $0.cancelUnanswered(dialog.id, after: limit) }
    }
  }

  private func expire(after limit: Duration, _ body: @escaping @Sendable (Session) async -> Void) {
    taskScope.add(on: EventLoop.shared) { [self, timeSource = dependencies.timeSource] in
      if await timeSource.sleep(for: max(.zero, limit)) { await body(self) }
    }
  }

  /// pi has answered by itself.
  private func expire(_ dialog: String) {
    guard questions.isOpen(dialog) else { return }
    withdraw(dialog, "it took too long")
    resumeHandling()
  }

  /// pi would wait for ever.
  private func cancelUnanswered(_ dialog: String, after limit: Duration) {
    guard questions.isOpen(dialog), let connection else { return }
    answerQuietly(dialog, .cancelled, connection)
    withdraw(dialog, Self.unanswered(for: limit))
    resumeHandling()
  }

  private func withdraw(_ dialog: String, _ why: String) {
    guard questions.closeDialog(dialog) else { return }
    emit(.dialogWithdrawn(id: dialog, why: why))
  }

  func withdrawDialogs(_ why: String) {
    for open in questions.openDialogs { withdraw(open.dialog.id, why) }
  }

  /// Takes back every question of the agent, and tells pi that no answer comes.
  func cancelDialogs(_ why: String) {
    if let connection {
      for open in questions.openDialogs { answerQuietly(open.dialog.id, .cancelled, connection) }
    }
    withdrawDialogs(why)
  }

  // MARK: - The session's own

  static func unanswered(for limit: Duration) -> String { "nobody answered within \(limit.forPeople)" }

  /// Asks the person something of the session's own.
  ///
  /// - Parameters:
  ///   - title: stays when the question is settled.
  ///   - details: shown with the question, while it is open.
  ///   - id: from `QuestionSet.nextID`, where somebody else may withdraw the question.
  /// - Returns: the answer; nil when the question was withdrawn or cancelled, or has expired.
  func ask(
    _ question: SupervisorQuestion, _ title: String, details: String? = nil, id: String? = nil
  ) async -> SupervisorQuestion.Answer? {
    let id = id ?? questions.nextID()
    let dialog = PiDialog(
      id: id, kind: .select, title: title, message: details, options: question.answers.map(\.label))
    if let limit = settings.questionTimeout {
      expire(after: limit) { await $0.withdrawQuestion(id, Self.unanswered(for: limit)) }
    }
    return await withCheckedContinuation { continuation in
      guard phase.isOpen, current.run?.aborting != true else { return continuation.resume(returning: nil) }
      questions.ask(id, QuestionSet.Own(question: question) { continuation.resume(returning: $0) })
      emit(.dialogOpened(Question(dialog, origin: .supervisor(question)), of: current.run?.prompt.key))
    }
  }

  func withdrawQuestion(_ id: String, _ why: String) {
    guard let question = questions.takeOwn(id) else { return }
    emit(.dialogWithdrawn(id: id, why: why))
    question.answer(nil)
  }

  func withdrawQuestions(_ why: String) {
    for id in questions.ownIDs { withdrawQuestion(id, why) }
  }
}
