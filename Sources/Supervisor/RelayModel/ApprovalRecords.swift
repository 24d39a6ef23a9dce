/// The person whose message the agent works on, in the conversation of the message. A thread is a conversation of its own.
package struct Requester: Sendable, Hashable, Codable {
  package var conversation: ConversationKey
  /// The platform's id of the person.
  package var person: String

  package init(conversation: ConversationKey, person: String) {
    self.conversation = conversation
    self.person = person
  }
}

/// A step in the life of an approval, as it is kept for the audit. It holds no input of a tool, only the redacted summary.
package struct ApprovalEvent: Sendable, Equatable, Codable {
  package enum Kind: String, Sendable, Codable, CaseIterable {
    case requested
    case approvedOnce = "approved-once"
    case approvedForSession = "approved-for-session"
    case persistentGrantCreated = "persistent-grant-created"
    case denied
    case expired
    case cancelled
    case failed
    case grantUsed = "grant-used"
    case grantRevoked = "grant-revoked"
  }

  package var kind: Kind
  /// Seconds since 1970.
  package var at: Double
  /// The id of the approval, or of the grant.
  package var approval: String
  package var session: String
  /// `nil` where nobody could be asked.
  package var requester: Requester?
  package var tool: String
  package var category: String
  package var rule: String
  package var summary: String
  /// The reason, where the kind does not say it.
  package var detail: String?

  package init(
    _ kind: Kind, at: Double, approval: String, session: String, requester: Requester?, tool: String,
    category: String, rule: String, summary: String, detail: String? = nil
  ) {
    self.kind = kind
    self.at = at
    self.approval = approval
    self.session = session
    self.requester = requester
    self.tool = tool
    self.category = category
    self.rule = rule
    self.summary = summary
    self.detail = detail
  }
}

/// A permission that outlives one call: the same call of the same person is not asked about again.
package struct ApprovalGrant: Sendable, Equatable {
  package enum Scope: Sendable, Hashable {
    case session(String)
    /// Every session, also of later daemons.
    case persistent
  }

  package var id: String
  package var scope: Scope
  /// Names the call without holding it.
  package var fingerprint: String
  package var requester: Requester
  /// The call as people are shown it, redacted.
  package var summary: String
  /// Seconds since 1970, as is `expiresAt`.
  package var createdAt: Double
  package var expiresAt: Double

  package init(
    id: String, scope: Scope, fingerprint: String, requester: Requester, summary: String, createdAt: Double,
    expiresAt: Double
  ) {
    self.id = id
    self.scope = scope
    self.fingerprint = fingerprint
    self.requester = requester
    self.summary = summary
    self.createdAt = createdAt
    self.expiresAt = expiresAt
  }

  /// A grant from the future was made before the clock was set back, and is not trusted.
  package func isValid(at now: Double) -> Bool { createdAt <= now && now < expiresAt }
}
