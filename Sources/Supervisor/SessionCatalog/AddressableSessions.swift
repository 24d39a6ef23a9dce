package import Pairings
package import RelayModel
internal import RelayStore

/// The sessions that one conversation may address: lists, choices, completions and the bot's activity show no others.
///
/// Everybody who is admitted may address a working session. An assistant's session belongs to the conversation that began
/// it, and nobody else is told that it exists; only the local terminal and programs, whose user owns the daemon, may
/// address all. A person who was paired may address the sessions of the pairings, and those that the conversation has begun where
/// a pairing allows that.
package struct AddressableSessions {
  /// In the order they were made; a session's number is its place here.
  package let sessions: [SessionListing]

  package enum Choice {
    case one(SessionListing)
    /// Names with their numbers.
    case ambiguous([String])
    case none
  }

  /// - Parameter conversation: `nil` for what everybody sees.
  package init(
    from conversation: ConversationKey?, with rights: ConversationRights = .configured, among all: [SessionListing]
  ) {
    sessions = all.filter { Self.permits($0, to: conversation, with: rights) }
  }

  package static func permits(
    _ session: SessionListing, to conversation: ConversationKey?, with rights: ConversationRights = .configured
  ) -> Bool {
    switch rights {
    case .configured: permits(session.role, session.home, to: conversation)
    case .paired(let sessions, let begins):
      session.role == nil && sessions.contains(session.id) || begins && session.home == conversation
    case .revoked: false
    }
  }

  /// - Parameter home: the conversation that began the session.
  static func permits(_ role: SessionRole?, _ home: ConversationKey?, to conversation: ConversationKey?) -> Bool {
    guard role != nil else { return true }
    guard let conversation else { return false }
    return conversation == home || conversation.isLocalTerminal || conversation.isProgram
  }

  package func statuses() async -> [SessionStatus] { await sessions.statuses() }

  /// Finds a session by its number, its name, its id, or the beginning of name or id.
  package func choose(_ text: String) async -> Choice {
    let wish = text.lowercased()
    if let number = Int(wish), (1...).contains(number), number <= sessions.count { return .one(sessions[number - 1]) }
    let known = Array(zip(sessions, await statuses()))
    let exact = known.indices.filter { known[$0].1.name.lowercased() == wish || known[$0].1.id == wish }
    // A few digits are a number of the list that is not there, not the beginning of an id that happens to have them.
    let isNumber = wish.utf8.count < 5 && Int(wish) != nil
    let matches =
      exact.isEmpty
      ? known.indices.filter { index in
        known[index].1.name.lowercased().hasPrefix(wish) || !isNumber && known[index].1.id.hasPrefix(wish)
      } : exact
    if matches.count > 1 { return .ambiguous(matches.map { "\($0 + 1). \(known[$0].1.name)" }) }
    return matches.first.map { .one(known[$0].0) } ?? .none
  }
}
