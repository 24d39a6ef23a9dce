internal import Conversations
internal import RelayConcurrency
package import RelayModel
internal import SessionStates

/// The events of one session for one program, in order. Pieces of text that come together are one event.
package final class SessionFeed: Sendable {
  /// The least time from one piece of text to the next, in which more of it comes together.
  package static let textInterval: Duration = .milliseconds(50)

  private let session: String
  private let subscriptions: SessionSubscriptions
  private let timeSource: TimeSource
  private let items: Mailbox<OutputEvent>
  private let observation: Int

  /// Begins to gather events.
  init(_ session: String, _ subscriptions: SessionSubscriptions, _ timeSource: TimeSource) {
    self.session = session
    self.subscriptions = subscriptions
    self.timeSource = timeSource
    let items = Mailbox<OutputEvent>(merge: { last, new in
      guard case .event(.text(let more)) = new, case .event(.text(let text)) = last else { return false }
      last = .event(.text(text + more))
      return true
    })
    self.items = items
    observation = subscriptions.observe(session) { item in
      items.post(item)
      if case .event(.closed) = item { items.close() }
    }
  }

  /// Reports events until `stop`, or until the session is closed.
  ///
  /// - Parameter report: must not wait.
  package func run(_ report: @Sendable (SessionReport) -> Void) async {
    while let item = await items.next() {
      if let one = SessionReport(item, of: session, at: timeSource.wallTime()) { report(one) }
      guard case .event(.text) = item else { continue }
      // Text that comes meanwhile is joined in the mailbox.
      guard await timeSource.sleep(for: Self.textInterval) else { break }
    }
    subscriptions.endObservation(observation, of: session)
  }

  package func stop() {
    subscriptions.endObservation(observation, of: session)
    items.close()
  }
}
