internal import AgentSessions
internal import PiRPC
internal import RelayConcurrency
internal import RelayModel
package import RelayWire
internal import SessionCatalog
internal import SessionStates

/// The assistant's periodic check: the agent is asked, in a session that knows of nothing else, whether there is something
/// to tell its owner.
package enum PeriodicCheck {
  static let prompt = """
    This is a periodic check; nobody has written. If there is a file HEARTBEAT.md in the working directory, read it and do \
    what it says. If nothing needs your owner's attention, answer \(allWell) and nothing else; otherwise say \
    briefly what does.
    """
  private static let allWell = "HEARTBEAT_OK"
  private static let findingPrefix = "Your periodic check found the following. Tell me in your own words:\n\n"
  private static let conversation = ConversationKey(instance: "main", conversation: "heartbeat")

  enum Outcome: Equatable {
    case allWell
    case finding(String)
    case failed(String)
  }

  /// Asks the agent.
  ///
  /// - Parameters:
  ///   - number: unique to this check.
  ///   - report: called before the session is closed, which may take seconds: a finding must not wait in memory meanwhile.
  static func run(
    _ number: Int, in sessions: SessionRegistry, observing admission: AdmissionController,
    report: (Outcome) async -> Void
  ) async {
    let events = Mailbox<SessionEvent>()
    let session = await sessions.heartbeatSession { _, event in
      admission.observe(event)
      events.post(event)
    }
    let request = Prompt(
      key: MessageKey(conversation: conversation, id: "\(number)"), text: prompt, typed: prompt)
    var outcome = Outcome.failed("the session did not take the question")
    if await session.enqueue(request) == .next { outcome = await answer(from: events, of: session) }
    await report(outcome)
    await sessions.closeUnstored(session)
  }

  /// Reads the agent's last words.
  private static func answer(from events: Mailbox<SessionEvent>, of session: Session) async -> Outcome {
    var text = ""
    while let event = await events.next() {
      switch event {
      case .messageEnded(let message) where message.role == "assistant": text = message.text
      // Nobody is there to be asked.
      case .dialogOpened(let question, _): _ = await session.answer(question.dialog.id, .cancelled)
      case .runEnded(_, .completed): return isAllWell(text) ? .allWell : .finding(text)
      case .runEnded(_, .failed(let why)), .runEnded(_, .forgotten(let why)): return .failed(why)
      case .runEnded: return .failed("it was stopped")
      default: break
      }
    }
    return .failed("pi-relayd is stopping")
  }

  static func isAllWell(_ text: String) -> Bool {
    let words = text.filter { $0.isLetter || $0 == "_" }
    return words.isEmpty || words == allWell
  }

  /// The message with which a finding is given to the owner's own session.
  package static func message(_ finding: String) -> String { findingPrefix + finding }

  /// The finding in such a message.
  package static func finding(in message: MessageReceived) -> Substring {
    message.text.hasPrefix(findingPrefix) ? message.text.dropFirst(findingPrefix.count) : ""
  }
}
