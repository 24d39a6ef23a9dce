internal import RelayPipes
package import RelayStore

/// Which sessions would give their agent a message at once, and after which entry: such a message is stored as being on
/// its way to the agent when it is first stored, which saves a second wait for the disk.
///
/// One message at a time has a claim. It counts until the session gives its agent anything: what is stored of the message
/// is taken back in the same step that stores what is given instead, since another's entry would look like its own.
package final class ReadySessions: Sendable {
  package struct Claim: Sendable, Equatable {
    package let message: MessageKey
    /// The session's last entry, as the claim says.
    package let last: String
    /// The message is new, and stored as the claim says.
    package fileprivate(set) var isStored = false
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

  /// Something happens in the session, or waits there, or its agent is gone.
  func notReady(_ session: String) {
    standings.withLock { standings in
      if standings[session]?.claim == nil { standings[session] = nil } else { standings[session]?.last = nil }
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

  package func hasClaim(_ session: String, _ message: MessageKey) -> Bool {
    standings.withLock { $0[session]?.claim?.message == message }
  }

  /// The message is on the disk, as the claim says if it still counts.
  package func confirm(_ session: String, _ message: MessageKey) {
    standings.withLock { standings in
      if standings[session]?.claim?.message == message { standings[session]?.claim?.isStored = true }
    }
  }

  /// The message was not stored so, or is stored otherwise now.
  package func release(_ session: String, _ message: MessageKey) {
    standings.withLock { standings in
      if standings[session]?.claim?.message == message { standings[session]?.claim = nil }
    }
  }

  /// Nothing was given after all: what is stored of the message is as the claim says.
  func putBack(_ claim: Claim, of session: String) {
    standings.withLock { standings in
      if standings[session]?.claim == nil { standings[session, default: Standing()].claim = claim }
    }
  }

  /// The session gives its agent a message: no claim counts any more, and there are none before it is ready again.
  func take(_ session: String) -> Claim? { standings.withLock { $0.removeValue(forKey: session)?.claim } }
}
