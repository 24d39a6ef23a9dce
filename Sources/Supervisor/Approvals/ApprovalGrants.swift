package import RelayModel

/// The grants of sessions, which end with this daemon. Persistent grants are in the store. A pure value.
package struct ApprovalGrants: Sendable {
  private var grants: [ApprovalGrant] = []

  package init() {}

  package var count: Int { grants.count }

  package mutating func add(_ grant: ApprovalGrant) { grants.append(grant) }

  /// The grant that covers a call now; grants whose time is over are removed.
  package mutating func grant(
    for fingerprint: String, by requester: Requester, in session: String, now: Double
  ) -> ApprovalGrant? {
    grants.removeAll { !$0.isValid(at: now) }
    return grants.first { $0.covers(fingerprint, by: requester, in: session, now: now) }
  }

  /// Revokes the grants that a conversation has given to other sessions than the one to which it talks now.
  ///
  /// - Parameter session: `nil` where the conversation talks to none.
  package mutating func revoke(by conversation: ConversationKey, except session: String?) -> [ApprovalGrant] {
    func isMeant(_ grant: ApprovalGrant) -> Bool {
      grant.requester.conversation == conversation && grant.scope != session.map(ApprovalGrant.Scope.session)
    }
    let revoked = grants.filter(isMeant)
    grants.removeAll(where: isMeant)
    return revoked
  }
}

extension ApprovalGrant {
  /// True for the same call of the same person in the same conversation, and in the same session where it is bound to one.
  package func covers(_ fingerprint: String, by requester: Requester, in session: String, now: Double) -> Bool {
    guard self.fingerprint == fingerprint, self.requester == requester, isValid(at: now) else { return false }
    return scope == .persistent || scope == .session(session)
  }
}
