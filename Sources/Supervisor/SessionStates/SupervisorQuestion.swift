package import Approvals
package import PiRPC
package import RelayModel

/// A question to the person.
package struct Question: Sendable, Equatable {
  package enum Origin: Sendable, Hashable, Codable {
    /// The agent asks, and ends with its process.
    case agent
    case supervisor(SupervisorQuestion)
  }

  package let dialog: PiDialog
  package let origin: Origin

  package init(_ dialog: PiDialog, origin: Origin) {
    self.dialog = dialog
    self.origin = origin
  }
}

/// A question that the supervisor asks itself. It has a fixed set of answers.
package enum SupervisorQuestion: Sendable, Hashable, Codable {
  /// A message waits for a decision.
  case message(MessageLifecycle.Question)
  /// The agent says nothing in the middle of a run.
  case silence
  /// A tool call waits for the person whose message the agent works on.
  case approval(ApprovalQuestion)

  package enum SilenceChoice: Sendable, Hashable, CaseIterable { case wait, stopRun, restartAgent }

  package enum Answer: Sendable, Hashable {
    case message(MessageLifecycle.Choice)
    case silence(SilenceChoice)
    case approval(ApprovalDecision)
  }

  /// In the order in which people are shown them.
  package var answers: [Answer] {
    switch self {
    case .message(.agentUnavailable): [.message(.tryAgain), .message(.drop)]
    case .message(.possiblyTaken): [.message(.runAgain), .message(.drop)]
    case .silence: SilenceChoice.allCases.map(Answer.silence)
    case .approval(let question): question.offer.decisions.map(Answer.approval)
    }
  }

  /// The answer that people know by this label.
  package func answer(labelled label: String) -> Answer? { answers.first { $0.label == label } }
}

extension SupervisorQuestion.Answer {
  package var label: String {
    switch self {
    case .message(.tryAgain): "Try again"
    case .message(.runAgain): "Run again"
    case .message(.drop): "Drop"
    case .silence(.wait): "Wait"
    case .silence(.stopRun): "Stop the run"
    case .silence(.restartAgent): "Restart the agent"
    case .approval(.approveOnce): "Approve once"
    case .approval(.approveForSession): "Approve for this session"
    case .approval(.approvePersistently): "Approve in all sessions"
    case .approval(.deny): "Deny"
    }
  }
}
