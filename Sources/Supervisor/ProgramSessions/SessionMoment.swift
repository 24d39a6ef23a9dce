internal import Conversations
package import RelayModel
internal import SessionStates

/// The moments of a session that pi's own events do not tell.
package enum SessionMoment: Sendable, Equatable {
  /// The agent is given these words; `isLocal` where a person typed them in the agent's own terminal.
  case input(String, isLocal: Bool)
  case asked(OpenQuestion)
  case answered(question: String, String, by: String)
  case withdrawn(question: String, why: String)

  /// - Returns: `nil` for every other event.
  init?(_ item: OutputEvent) {
    switch item {
    case .event(.messageGiven(_, let text)): self = .input(text, isLocal: false)
    case .event(.typed(let text)): self = .input(text, isLocal: true)
    case .ask(let question): self = .asked(OpenQuestion(question))
    case .settleDialog(let question, .answered(let answer, let name)):
      self = .answered(question: question.id, answer, by: name)
    case .settleDialog(let question, .unanswered(let why)): self = .withdrawn(question: question.id, why: why)
    default: return nil
    }
  }
}
