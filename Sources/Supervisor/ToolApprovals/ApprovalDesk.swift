internal import AgentSessions
package import Approvals
package import Logging
package import RelayConcurrency
package import RelayConfig
internal import RelayLogging
package import RelayModel
package import RelayStore
package import RelayText
package import SessionCatalog
internal import SessionStates

/// Decides about the tool calls of all sessions: applies the rules and the grants, has the requester asked, and keeps the
/// audit. A call that a rule matches in a turn from a chat is denied unless its requester approves it in time, or has
/// granted it before.
package actor ApprovalDesk {
  /// Tool calls of one session that wait at once; further ones are denied.
  static let maximumOpen = 20

  package private(set) var settings: Config.Approvals
  private let sessions: SessionRegistry
  private let store: SQLiteStore
  private let timeSource: TimeSource
  /// Takes secrets of well-known kinds out of summaries, whatever conversations are shown.
  private let redaction: Redactor
  private let logger: Logger
  /// The session that a conversation talks to.
  private let session: @Sendable (ConversationKey) async -> String?
  private var open: [String: PendingApproval] = [:]
  private var grants = ApprovalGrants()
  /// Approvals that were asked before and have no end belong to an earlier daemon. Seconds since 1970.
  private let began: Double

  /// - Parameter session: the session that a conversation talks to.
  package init(
    settings: Config.Approvals, sessions: SessionRegistry, store: SQLiteStore, timeSource: TimeSource,
    redaction: Redactor, logger: Logger, session: @escaping @Sendable (ConversationKey) async -> String?
  ) {
    self.settings = settings
    self.sessions = sessions
    self.store = store
    self.timeSource = timeSource
    self.redaction = redaction
    self.logger = logger
    self.session = session
    began = timeSource.wallTime()
  }

  // MARK: - Calls

  /// Decides about a call that the agent of a session is about to make; waits for a person where one must be asked. When the
  /// caller is cancelled, the call is denied.
  ///
  /// - Parameter limit: how long the caller waits; `nil`: as long as the settings say.
  package func approve(
    _ call: ToolCall, in sessionID: String, within limit: Duration? = nil
  ) async -> ApprovalVerdict {
    var settings = settings
    if let limit { settings.timeout = min(settings.timeout, limit) }
    guard settings.isEnabled, let match = await Self.match(call, settings.rules) else { return .allowed }
    let matched = MatchedCall(call, match, session: sessionID, through: redaction)
    guard let session = await sessions.awake(sessionID) else {
      return await fail(matched, "the session is not one of this pi-relayd")
    }
    switch await session.turnOrigin {
    case .local: return .allowed
    case .nobody: return await fail(matched, "no person's message is being worked on, so nobody can be asked")
    case .remote(let requester, let name): return await decide(matched, requester, name, session, settings)
    }
  }

  private func decide(
    _ matched: MatchedCall, _ requester: Requester, _ name: String, _ session: Session, _ settings: Config.Approvals
  ) async -> ApprovalVerdict {
    guard await self.session(requester.conversation) == session.id else {
      return await fail(matched, "the conversation of its request talks to another session now", requester)
    }
    do {
      if let grant = try await grant(for: matched, requester, settings) {
        try await record(matched.event(.grantUsed, grant.id, at: timeSource.wallTime(), requester), settings)
        return ApprovalVerdict(allows: true, person: name)
      }
      guard open.values.count(where: { $0.session == session.id }) < Self.maximumOpen else {
        return await fail(matched, "\(Self.maximumOpen) other calls wait for an approval", requester)
      }
      return try await ask(matched, requester, name, session, settings)
    } catch {
      logger.with("session", session.id).error("a tool call is denied, because nothing can be recorded: \(error)")
      return .denied("Denied: pi-relayd cannot record the approval.")
    }
  }

  private func grant(
    for matched: MatchedCall, _ requester: Requester, _ settings: Config.Approvals
  ) async throws -> ApprovalGrant? {
    guard !matched.isTruncated else { return nil }
    let now = timeSource.wallTime()
    if settings.sessionGrants,
      let grant = grants.grant(for: matched.fingerprint, by: requester, in: matched.session, now: now)
    {
      return grant
    }
    guard settings.persistentGrants else { return nil }
    return try await store.persistentGrant(for: matched.fingerprint, by: requester, now: now)
  }

  // MARK: - Questions

  private func ask(
    _ matched: MatchedCall, _ requester: Requester, _ name: String, _ session: Session, _ settings: Config.Approvals
  ) async throws -> ApprovalVerdict {
    let id = newID()
    let mayGrant = !matched.isTruncated
    let offer = ApprovalOffer(
      session: settings.sessionGrants && mayGrant, persistent: settings.persistentGrants && mayGrant)
    let asked = timeSource.wallTime()
    open[id] = PendingApproval(
      id: id, session: session.id, requester: requester, fingerprint: matched.fingerprint, offer: offer,
      expires: asked + settings.timeout / .seconds(1))
    defer { open[id] = nil }
    try await record(matched.event(.requested, id, at: asked, requester), settings)
    let question = ApprovalQuestion(
      id: id, requester: requester, requesterName: name, offer: offer, summary: matched.summary)
    let title = matched.title(in: await session.name)
    let details = matched.details(within: settings.timeout)
    let reply = await withTaskCancellationHandler {
      await session.askApproval(question, title, details: details, within: settings.timeout)
    } onCancel: {
      Task { await session.withdrawApproval(id, Session.nobodyWaits) }
    }
    return try await finish(id, matched, reply, name, settings)
  }

  private func finish(
    _ id: String, _ matched: MatchedCall, _ reply: QuestionSet.Reply, _ name: String, _ settings: Config.Approvals
  ) async throws -> ApprovalVerdict {
    guard var pending = open[id] else { return .denied("Denied: the approval is not open any more.") }
    var event: PendingApproval.Event =
      switch reply {
      case .answered(.approval(let decision)): .decided(decision, by: pending.requester)
      case .answered, .dismissed: .decided(.deny, by: pending.requester)
      case .expired: .timeIsOver
      case .withdrawn(let why): .cancelled(why)
      }
    // The conversation may have turned to another session while the answer was on its way.
    if case .decided = event, await session(pending.requester.conversation) != pending.session {
      event = .cancelled("the conversation turned to another session")
    }
    let now = timeSource.wallTime()
    var reaction = pending.take(event, now: now)
    if case .refused = reaction { reaction = pending.take(.timeIsOver, now: now) }
    guard case .ended(let kind) = reaction else { return .denied("Denied: the approval is not open any more.") }
    let grant = grant(of: pending, matched, settings, now: now)
    try await record(
      matched.event(kind, id, at: now, pending.requester, detail: pending.state.detail), settings,
      creating: grant?.scope == .persistent ? grant : nil)
    if let grant, grant.scope != .persistent { grants.add(grant) }
    return pending.state.verdict(by: name, within: settings.timeout)
  }

  /// The grant of an approval for more than one call.
  private func grant(
    of pending: PendingApproval, _ matched: MatchedCall, _ settings: Config.Approvals, now: Double
  ) -> ApprovalGrant? {
    let (scope, time): (ApprovalGrant.Scope, Duration)
    switch pending.state {
    case .approved(.approveForSession): (scope, time) = (.session(pending.session), settings.sessionGrantTime)
    case .approved(.approvePersistently): (scope, time) = (.persistent, settings.persistentGrantTime)
    default: return nil
    }
    return ApprovalGrant(
      id: pending.id, scope: scope, fingerprint: matched.fingerprint, requester: pending.requester,
      summary: matched.summary, createdAt: now, expiresAt: now + time / .seconds(1))
  }

  private func newID() -> String {
    let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789")
    return ApprovalReply.idPrefix + String((0..<10).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
  }

  // MARK: - Decisions

  /// The reason why a decision would have no effect, for the person who made it; `nil` where it would have one.
  package func refusal(of decision: ApprovalDecision, on question: String, by person: Requester) -> String? {
    guard let pending = open[question] else { return Self.notOpen }
    switch pending.refusal(of: decision, by: person, now: timeSource.wallTime()) {
    case nil: return nil
    case .notRequester:
      return "Only the person whose message the agent works on decides about this call, and only there."
    case .notOffered: return "That is not offered for this call. Approve it once, or deny it."
    case .tooLate: return Self.notOpen
    }
  }

  package static let notOpen =
    "That approval is no longer open: your answer has no effect, and nothing was approved by it."

  // MARK: - Changes

  /// Takes new settings. Calls that wait go on waiting as they were asked.
  package func apply(_ new: Config.Approvals) { settings = new }

  /// A conversation talks to another session from now on, or to none: what it was asked about others is denied, and what it
  /// granted there ends.
  package func conversationTurned(_ conversation: ConversationKey, to session: String?) async {
    for pending in open.values where pending.requester.conversation == conversation && pending.session != session {
      await sessions.awake(pending.session)?.withdrawApproval(pending.id, "the conversation turned to another session")
    }
    for grant in grants.revoke(by: conversation, except: session) { await record(endOf: grant) }
  }

  /// Revokes a persistent grant.
  ///
  /// - Returns: the obstacle, in words.
  package func revoke(_ grant: String) async -> String? {
    let now = timeSource.wallTime()
    do {
      let revoked = try await store.revokeGrant(grant, keeping: settings.auditEvents) {
        Self.event(.grantRevoked, $0, at: now)
      }
      return revoked == nil ? "there is no grant \(TextSanitizer.line(grant)); pi-relayd approvals lists them" : nil
    } catch {
      return "\(error)"
    }
  }

  private func record(endOf grant: ApprovalGrant) async {
    do {
      try await record(Self.event(.grantRevoked, grant, at: timeSource.wallTime()), settings)
    } catch {
      logger.error("the end of a grant was not recorded: \(error)")
    }
  }

  // MARK: - Audit

  /// Records the end of approvals that an earlier daemon has asked for: nothing was approved.
  package func endEarlierApprovals() async {
    do {
      try await store.cancelApprovals(
        askedBefore: began, at: timeSource.wallTime(), because: "pi-relayd was restarted", keeping: settings.auditEvents
      )
    } catch {
      logger.error("the end of earlier approvals was not recorded: \(error)")
    }
  }

  private func record(
    _ event: ApprovalEvent, _ settings: Config.Approvals, creating grant: ApprovalGrant? = nil
  ) async throws {
    try await store.record(event, keeping: settings.auditEvents, creating: grant)
  }

  /// Records that a call is denied about which nobody could be asked.
  private func fail(_ matched: MatchedCall, _ why: String, _ requester: Requester? = nil) async -> ApprovalVerdict {
    do {
      try await record(
        matched.event(.failed, newID(), at: timeSource.wallTime(), requester, detail: why), settings)
    } catch {
      logger.error("a denied tool call was not recorded: \(error)")
    }
    return .denied("Denied: \(why).")
  }

  private static func event(_ kind: ApprovalEvent.Kind, _ grant: ApprovalGrant, at now: Double) -> ApprovalEvent {
    let name = CallFingerprint.Name(grant.fingerprint)
    let session = if case .session(let id) = grant.scope { id } else { "" }
    return ApprovalEvent(
      kind, at: now, approval: grant.id, session: session, requester: grant.requester, tool: name.tool,
      category: name.category, rule: name.rule, summary: grant.summary)
  }

  /// Rules are tried beside the actor: an expression may take long on a large input.
  @concurrent
  private static func match(_ call: ToolCall, _ rules: [ApprovalRule]) async -> ApprovalRule? {
    ApprovalRule.first(of: rules, matching: call)
  }
}
