internal import RelayConcurrency
package import SessionStates

// Tool calls that wait for the person whose message the agent works on.
extension Session {
  /// The reason for taking back a question whose asker is gone.
  package static let nobodyWaits = "the agent no longer waits"

  /// The origin of the turn that the agent works on now. While pi in a terminal has not accepted a message yet, it may still
  /// work on an earlier one, of another person.
  package var turnOrigin: TurnOrigin { runAtWork?.origin ?? .nobody }

  /// The run that the agent works on, as far as it is one of the daemon's messages.
  var runAtWork: SessionRun? {
    guard let run = current.run, run.hasTakenMessage || !isAttached else { return nil }
    return run
  }

  /// Asks the requester of the run in progress whether a tool call may be made. The question ends with the run, the agent or
  /// the session.
  package func askApproval(
    _ question: ApprovalQuestion, _ title: String, details: String, within limit: Duration
  ) async -> QuestionSet.Reply {
    guard case .remote(let requester, _) = turnOrigin, requester == question.requester else {
      return .withdrawn("the run is over")
    }
    return await questions.askApproval(question, title, details: details, within: limit, for: self)
  }

  /// Takes back the question about a tool call, which is denied.
  package func withdrawApproval(_ id: String, _ why: String) { questions.withdrawOwn(id, why) }
}
