internal import AgentRuntime
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayTransport
internal import RelayWire

// Questions to the person: the agent's, which end with its process, and the session's own, which wait for a decision about
// a message or about a silent agent.
extension Session {
  /// A question of the agent that waits for an answer.
  struct OpenDialog: Sendable {
    let dialog: PiDialog
    /// When it began to wait, on this process's clock.
    let began: Duration
  }

  // MARK: - The agent's

  func open(_ dialog: PiDialog, _ connection: PiConnection) {
    // A run that is being stopped asks nothing any more: abort would wait for the answer.
    if run?.aborting == true {
      answerQuietly(dialog.id, .cancelled, connection)
      return
    }
    keepOpen(dialog)
    emit(.dialogOpened(dialog, of: run?.prompt.key))
  }

  /// - Parameter waited: how long it had waited in earlier processes.
  func keepOpen(_ dialog: PiDialog, waited: Duration = .zero) {
    openDialogs[dialog.id] = OpenDialog(dialog: dialog, began: dependencies.timekeeper.now() - waited)
    if let timeout = dialog.timeout {
      expire(after: .milliseconds(timeout) - waited) { await $0.expire(dialog.id) }
    } else if let limit = settings.questionTimeout {
      expire(after: limit - waited) { await $0.cancelUnanswered(dialog.id, after: limit) }
    }
  }

  private func expire(after limit: Duration, _ body: @escaping @Sendable (Session) async -> Void) {
    taskScope.add(on: EventLoop.shared) { [self, timekeeper = dependencies.timekeeper] in
      if await timekeeper.sleep(for: max(.zero, limit)) { await body(self) }
    }
  }

  /// pi has answered by itself.
  private func expire(_ dialog: String) {
    guard openDialogs[dialog] != nil else { return }
    withdraw(dialog, "it took too long")
    resumeHandling()
  }

  /// pi would wait for ever.
  private func cancelUnanswered(_ dialog: String, after limit: Duration) {
    guard openDialogs[dialog] != nil, let connection else { return }
    answerQuietly(dialog, .cancelled, connection)
    withdraw(dialog, Self.unanswered(for: limit))
    resumeHandling()
  }

  private func withdraw(_ dialog: String, _ why: String) {
    guard openDialogs.removeValue(forKey: dialog) != nil else { return }
    emit(.dialogWithdrawn(id: dialog, why: why))
  }

  func withdrawDialogs(_ why: String) {
    for dialog in openDialogs.keys { withdraw(dialog, why) }
  }

  /// Takes back every question of the agent, and tells pi that no answer comes.
  func cancelDialogs(_ why: String) {
    if let connection { for dialog in openDialogs.keys { answerQuietly(dialog, .cancelled, connection) } }
    withdrawDialogs(why)
  }

  // MARK: - The session's own

  static func unanswered(for limit: Duration) -> String { "nobody answered within \(limit.forPeople)" }

  func nextQuestion() -> String {
    defer { questionNumber += 1 }
    return "\(PiDialog.supervisorPrefix)\(questionNumber)"
  }

  /// Asks the person something of the session's own.
  ///
  /// - Parameters:
  ///   - question: stays when the question is settled.
  ///   - details: shown with the question, while it is open.
  ///   - id: from `nextQuestion`, where somebody else may withdraw the question.
  /// - Returns: the option that was chosen; nil when the question was withdrawn or cancelled, or has expired.
  func ask(_ question: String, _ options: [String], details: String? = nil, id: String? = nil) async -> String? {
    let id = id ?? nextQuestion()
    let dialog = PiDialog(id: id, kind: .select, title: question, message: details, options: options)
    if let limit = settings.questionTimeout {
      expire(after: limit) { await $0.withdrawQuestion(id, Self.unanswered(for: limit)) }
    }
    return await withCheckedContinuation { continuation in
      guard !closed, run?.aborting != true else { return continuation.resume(returning: nil) }
      questions[id] = continuation
      emit(.dialogOpened(dialog, of: run?.prompt.key))
    }
  }

  func withdrawQuestion(_ id: String, _ why: String) {
    guard let continuation = questions.removeValue(forKey: id) else { return }
    emit(.dialogWithdrawn(id: id, why: why))
    continuation.resume(returning: nil)
  }

  func withdrawQuestions(_ why: String) {
    for id in questions.keys { withdrawQuestion(id, why) }
  }

  /// Whether the message at the head waits for a person's decision, and everything behind it does too.
  var awaitsDecision: Bool { questions.keys.contains { $0 != silenceQuestion } }
}

extension PiDialog {
  /// An agent names its questions otherwise.
  fileprivate static let supervisorPrefix = "relay-question-"

  /// Whether the supervisor asks this, not an agent.
  package var isFromSupervisor: Bool { id.hasPrefix(Self.supervisorPrefix) }
}
