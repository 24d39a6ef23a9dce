internal import PiRPC

/// The open questions of a session: the agent's, which end with its process, and the supervisor's own. A pure value.
struct QuestionSet {
  /// A question of the agent that waits for an answer.
  struct OpenDialog: Sendable {
    let dialog: PiDialog
    /// When it began to wait, on this process's clock.
    let began: Duration
  }

  /// A question of the supervisor's own.
  struct Own: Sendable {
    let question: SupervisorQuestion
    /// Takes the answer; `nil` when the question was withdrawn or cancelled, or has expired.
    let answer: @Sendable (SupervisorQuestion.Answer?) -> Void
  }

  private var dialogs: [String: OpenDialog] = [:]
  private var own: [String: Own] = [:]
  private var nextNumber = 0

  var count: Int { dialogs.count + own.count }

  var isEmpty: Bool { dialogs.isEmpty && own.isEmpty }

  // MARK: - The agent's

  var hasDialogs: Bool { !dialogs.isEmpty }

  var openDialogs: [OpenDialog] { Array(dialogs.values) }

  mutating func open(_ dialog: PiDialog, began: Duration) {
    dialogs[dialog.id] = OpenDialog(dialog: dialog, began: began)
  }

  func isOpen(_ dialog: String) -> Bool { dialogs[dialog] != nil }

  /// - Returns: false when the agent no longer waits for this answer.
  mutating func closeDialog(_ id: String) -> Bool { dialogs.removeValue(forKey: id) != nil }

  // MARK: - The supervisor's own

  var hasOwn: Bool { !own.isEmpty }

  var ownIDs: [String] { Array(own.keys) }

  /// The message at the head waits for a person's decision, and everything behind it does too.
  var awaitsDecision: Bool { own.values.contains { $0.question != .silence } }

  /// The open question about an agent that says nothing.
  var silence: String? { own.first { $0.value.question == .silence }?.key }

  /// An id for a question of the supervisor's own; an agent names its questions otherwise.
  mutating func nextID() -> String {
    defer { nextNumber += 1 }
    return "relay-question-\(nextNumber)"
  }

  mutating func ask(_ id: String, _ question: Own) { own[id] = question }

  /// Takes a question out, to answer it.
  mutating func takeOwn(_ id: String) -> Own? { own.removeValue(forKey: id) }
}
