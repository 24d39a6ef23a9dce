internal import RelayPipes
package import RelayStore

/// Which sessions would give their agent a message at once, and after which entry: such a message is stored as being on
/// its way to the agent when it is first stored, which saves a second wait for the disk.
///
/// One message at a time has a claim. What is stored of it must not be believed once the agent is given another, whose
/// entry would look like its own: the session takes the claim before it gives its agent anything.
package final class ReadySessions: Sendable {
  package struct Claim: Sendable, Equatable {
    package let message: MessageKey
    /// The session's last entry, as the claim says.
    package let last: String
  }

  private struct Standing {
    var last: String?
    var claim: Claim?
  }

  private let standings = Locked<[String: Standing]>([:])

  package init() {}

  /// The session's agent waits, and this is the session's last entry.
  func ready(_ session: String, after last: String) {
    standings.withLock { $0[session, default: Standing()].last = last }
  }

  /// Something happens in the session, or its agent has ended.
  func notReady(_ session: String) {
    standings.withLock { standings in
      guard let claim = standings[session]?.claim else { return standings[session] = nil }
      standings[session] = Standing(last: nil, claim: claim)
    }
  }

  /// - Returns: the entry after which the message will be given to the agent; nil where that is not known, or another
  ///   message is before it.
  package func claim(_ session: String, for message: MessageKey) -> String? {
    standings.withLock { standings in
      guard let last = standings[session]?.last, standings[session]?.claim == nil else { return nil }
      standings[session]?.claim = Claim(message: message, last: last)
      return last
    }
  }

  /// The message was not stored so.
  package func release(_ session: String, _ message: MessageKey) {
    standings.withLock { standings in
      if standings[session]?.claim?.message == message { standings[session]?.claim = nil }
    }
  }

  func hasClaim(_ session: String, _ message: MessageKey) -> Bool {
    standings.withLock { $0[session]?.claim?.message == message }
  }

  func claim(of session: String) -> Claim? { standings.withLock { $0[session]?.claim } }

  /// The session gives its agent a message; there are no claims before it is ready again.
  func take(_ session: String) { standings.withLock { $0[session] = nil } }
}
