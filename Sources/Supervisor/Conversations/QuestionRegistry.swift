internal import PiRPC
internal import RelayConcurrency
package import RelayWire
internal import SessionStates

/// The open questions of all sessions. The first answer wins; a later one finds no question.
package final class QuestionRegistry: Sendable {
  private struct State {
    var open: [String: PendingQuestion] = [:]
    var order: [String] = []
  }

  private let state = Locked(State())

  package init() {}

  func open(_ question: Question, session: String, now: Double) -> PendingQuestion {
    let approval: ApprovalQuestion? =
      if case .supervisor(.approval(let approval)) = question.origin { approval } else { nil }
    let record = PendingQuestion(
      id: approval?.id ?? Self.newID(), session: session, dialog: question.dialog,
      isFromSupervisor: question.origin != .agent, expires: question.dialog.timeout.map { now + Double($0) / 1000 },
      approval: approval)
    state.withLock { state in
      state.open[record.id] = record
      state.order.append(record.id)
    }
    return record
  }

  private static func newID() -> String {
    let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789")
    return String((0..<10).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
  }

  /// All open questions, oldest first.
  package var all: [PendingQuestion] { state.withLock { state in state.order.compactMap { state.open[$0] } } }

  /// A question that was asked by the program that this process was before.
  package func adopt(_ record: PendingQuestion) {
    state.withLock { state in
      state.open[record.id] = record
      state.order.append(record.id)
    }
  }

  /// A question of our own that the program before has shown, and that is now asked again: it stays as it is shown.
  ///
  /// - Returns: false when there is none.
  func keepShown(_ dialog: PiDialog, session: String) -> Bool {
    state.withLock { state in
      let earlier = state.open.values.first { record in
        record.session == session && record.isFromSupervisor && record.approval == nil
          && record.dialog.title == dialog.title && record.dialog.options == dialog.options
      }
      guard let earlier else { return false }
      state.open[earlier.id] = PendingQuestion(
        id: earlier.id, session: session, dialog: dialog, isFromSupervisor: true, expires: earlier.expires)
      return true
    }
  }

  /// The open questions of a session to everybody who watches it, oldest first: all but those whether a tool call may be
  /// made.
  package func all(of session: String) -> [PendingQuestion] {
    state.withLock { state in
      state.order.compactMap { state.open[$0] }.filter { $0.session == session && $0.approval == nil }
    }
  }

  /// The question of a session to everybody that has waited longest.
  func first(of session: String) -> PendingQuestion? {
    state.withLock { state in
      for id in state.order {
        if let record = state.open[id], record.session == session, record.approval == nil { return record }
      }
      return nil
    }
  }

  /// Takes a question away to answer it; nil when another was quicker.
  package func claim(_ id: String) -> PendingQuestion? {
    state.withLock { state in
      state.order.removeAll { $0 == id }
      return state.open.removeValue(forKey: id)
    }
  }

  package func record(_ id: String) -> PendingQuestion? { state.withLock { $0.open[id] } }

  /// The open question that a button belongs to, and what pressing it answers.
  private func reading(ofButton id: String) -> (PendingQuestion, PendingQuestion.Reading)? {
    let parts = id.split(separator: ":").map(String.init)
    guard parts.count == 2, let number = Int(parts[1]), let record = record(parts[0]) else { return nil }
    return (record, record.read(button: number))
  }

  /// The open question that a button, or a form that was filled in, belongs to, and what it answers.
  package func reading(of action: ActionInvoked) -> (PendingQuestion, PendingQuestion.Reading)? {
    guard let text = action.text else { return reading(ofButton: action.action) }
    return record(action.action).map { ($0, $0.read(text)) }
  }

  /// The label of a button, as long as its question is open.
  package func label(ofButton id: String) -> String? {
    if case (_, .answer(_, let label))? = reading(ofButton: id) { label } else { nil }
  }

  /// Takes away the question that the agent calls `dialog`.
  func withdraw(dialog: String, session: String) -> PendingQuestion? {
    state.withLock { state in
      guard let record = state.open.values.first(where: { $0.session == session && $0.dialog.id == dialog }) else {
        return nil
      }
      state.order.removeAll { $0 == record.id }
      return state.open.removeValue(forKey: record.id)
    }
  }
}
