package import RelayModel

/// A person's decision about one tool call.
package enum ApprovalDecision: String, Sendable, Hashable, Codable, CaseIterable {
  case approveOnce = "approve"
  case approveForSession = "approve-session"
  case approvePersistently = "approve-persistent"
  case deny
}

/// The decisions that the configuration lets a person make.
package struct ApprovalOffer: Sendable, Hashable, Codable {
  package var session: Bool
  package var persistent: Bool

  package init(session: Bool, persistent: Bool) {
    self.session = session
    self.persistent = persistent
  }

  /// In the order in which people are shown them.
  package var decisions: [ApprovalDecision] {
    ApprovalDecision.allCases.filter { decision in
      switch decision {
      case .approveOnce, .deny: true
      case .approveForSession: session
      case .approvePersistently: persistent
      }
    }
  }
}

/// One tool call that waits for a person: its life from the question to the end. A pure value. Everything but an approval
/// in time by the requester denies the call.
package struct PendingApproval: Sendable, Equatable {
  package enum State: Sendable, Hashable {
    case asked
    case approved(ApprovalDecision)
    case denied
    case expired
    case cancelled(String)
    case failed(String)

    /// The call may be made.
    package var allows: Bool { if case .approved = self { true } else { false } }
  }

  package enum Event: Sendable, Hashable {
    case decided(ApprovalDecision, by: Requester)
    case timeIsOver
    /// The run, the session or the conversation is not there any more, or not as it was.
    case cancelled(String)
    /// The question could not be asked or recorded.
    case failed(String)
  }

  /// The reason why a decision has no effect.
  package enum Refusal: Sendable, Hashable {
    case notRequester
    case notOffered
    case tooLate(State)
  }

  package enum Reaction: Sendable, Hashable {
    /// The approval has ended, which the audit records.
    case ended(ApprovalEvent.Kind)
    /// Nothing has changed.
    case refused(Refusal)
    /// The approval had ended before; nothing has changed.
    case ignored
  }

  package let id: String
  package let session: String
  package let requester: Requester
  /// Names the call.
  package let fingerprint: String
  package let offer: ApprovalOffer
  /// Seconds since 1970.
  package let expires: Double
  package private(set) var state = State.asked

  package init(
    id: String, session: String, requester: Requester, fingerprint: String, offer: ApprovalOffer, expires: Double
  ) {
    self.id = id
    self.session = session
    self.requester = requester
    self.fingerprint = fingerprint
    self.offer = offer
    self.expires = expires
  }

  /// The reason why a decision would have no effect now; `nil` where it would have one.
  package func refusal(of decision: ApprovalDecision, by person: Requester, now: Double) -> Refusal? {
    // Others do not learn how it ended.
    if person != requester { return .notRequester }
    guard state == .asked else { return .tooLate(state) }
    guard now < expires else { return .tooLate(.expired) }
    return offer.decisions.contains(decision) ? nil : .notOffered
  }

  /// - Parameter now: seconds since 1970.
  package mutating func take(_ event: Event, now: Double) -> Reaction {
    switch event {
    case .decided(let decision, let person):
      if let refusal = refusal(of: decision, by: person, now: now) { return .refused(refusal) }
      state = decision == .deny ? .denied : .approved(decision)
    case .timeIsOver where state == .asked: state = .expired
    case .cancelled(let why) where state == .asked: state = .cancelled(why)
    case .failed(let why) where state == .asked: state = .failed(why)
    case .timeIsOver, .cancelled, .failed: return .ignored
    }
    return .ended(auditKind)
  }

  private var auditKind: ApprovalEvent.Kind {
    switch state {
    case .asked: .requested
    case .approved(.approveForSession): .approvedForSession
    case .approved(.approvePersistently): .persistentGrantCreated
    case .approved: .approvedOnce
    case .denied: .denied
    case .expired: .expired
    case .cancelled: .cancelled
    case .failed: .failed
    }
  }
}
