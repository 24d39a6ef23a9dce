package import PiRPC

/// The open questions of a session: the agent's, which end with its process, and the supervisor's own. A pure value.
package struct QuestionSet {
  /// A question of the agent that waits for an answer.
  package struct OpenDialog: Sendable {
    package let dialog: PiDialog
    /// When it began to wait, on this process's clock.
    package let began: Duration
  }

  /// A question of the supervisor's own.
  package struct Own: Sendable {
    package let question: SupervisorQuestion
    /// Takes the answer; `nil` when the question was withdrawn or cancelled, or has expired.
    package let answer: @Sendable (SupervisorQuestion.Answer?) -> Void

    package init(question: SupervisorQuestion, answer: @escaping @Sendable (SupervisorQuestion.Answer?) -> Void) {
      self.question = question
      self.answer = answer
    }
  }

  private var dialogs: [String: OpenDialog] = [:]
  private var own: [String: Own] = [:]
  private var nextNumber = 0

  package init() {}

  package var count: Int { dialogs.count + own.count }

  package var isEmpty: Bool { dialogs.isEmpty && own.isEmpty }

  // MARK: - The agent's

  package var hasDialogs: Bool { !dialogs.isEmpty }

  package var openDialogs: [OpenDialog] { Array(dialogs.values) }

  package mutating func open(_ dialog: PiDialog, began: Duration) {
    dialogs[dialog.id] = OpenDialog(dialog: dialog, began: began)
  }

  package func isOpen(_ dialog: String) -> Bool { dialogs[dialog] != nil }

  /// - Returns: false when the agent no longer waits for this answer.
  package mutating func closeDialog(_ id: String) -> Bool { dialogs.removeValue(forKey: id) != nil }

  // MARK: - The supervisor's own

  package var hasOwn: Bool { !own.isEmpty }

  package var ownIDs: [String] { Array(own.keys) }

  /// The message at the head waits for a person's decision, and everything behind it does too.
  package var awaitsDecision: Bool { own.values.contains { $0.question != .silence } }

  /// The open question about an agent that says nothing.
  package var silence: String? { own.first { $0.value.question == .silence }?.key }

  /// An id for a question of the supervisor's own; an agent names its questions otherwise.
  package mutating func nextID() -> String {
    defer { nextNumber += 1 }
    return "relay-question-\(nextNumber)"
  }

  package mutating func ask(_ id: String, _ question: Own) { own[id] = question }

  package func own(_ id: String) -> Own? { own[id] }

  /// Takes a question out, to answer it.
  package mutating func takeOwn(_ id: String) -> Own? { own.removeValue(forKey: id) }
}
