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
    /// Takes the end of the question.
    package let answer: @Sendable (Reply) -> Void

    package init(question: SupervisorQuestion, answer: @escaping @Sendable (Reply) -> Void) {
      self.question = question
      self.answer = answer
    }
  }

  /// The end of a question of the supervisor's own.
  package enum Reply: Sendable, Equatable {
    case answered(SupervisorQuestion.Answer)
    /// The person wants no answer.
    case dismissed
    case expired
    case withdrawn(String)

    package var answer: SupervisorQuestion.Answer? { if case .answered(let answer) = self { answer } else { nil } }
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
  package var awaitsDecision: Bool {
    own.values.contains { if case .message = $0.question { true } else { false } }
  }

  /// The tool calls that wait for a person.
  package var approvalIDs: [String] {
    own.filter { if case .approval = $0.value.question { true } else { false } }.map(\.key)
  }

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
