internal import Approvals
internal import RelayConcurrency
internal import RelayModel
internal import RelayText
internal import RelayWire

/// A tool call that a rule has matched, as the audit and people know it.
struct MatchedCall: Sendable {
  let session: String
  let fingerprint: String
  let summary: String
  /// Other calls may have the same fingerprint: a grant would cover them, too.
  let isTruncated: Bool
  private let tool: String
  private let category: ToolCategory
  private let rule: ApprovalRule

  init(_ call: ToolCall, _ rule: ApprovalRule, session: String, through redaction: Redactor) {
    self.session = session
    self.rule = rule
    tool = call.tool
    category = call.categories.first(where: rule.categories.contains) ?? call.categories.first ?? .custom
    fingerprint = CallFingerprint.of(call, category, rule: rule.id)
    summary = call.summary(through: redaction)
    isTruncated = call.isTruncated
  }

  func event(
    _ kind: ApprovalEvent.Kind, _ id: String, at now: Double, _ requester: Requester?, detail: String? = nil
  ) -> ApprovalEvent {
    ApprovalEvent(
      kind, at: now, approval: id, session: session, requester: requester, tool: tool, category: category.rawValue,
      rule: rule.id, summary: summary, detail: detail)
  }

  func title(in session: String) -> String { "Approval needed in \(session): \(category.rawValue)" }

  func details(within limit: Duration) -> String {
    let reason = rule.description.map { ": " + TextSanitizer.line($0, limit: 200) } ?? ""
    let rest = isTruncated ? " Its input is too long to be read whole, and the rest of it may match the rule." : ""
    return """
      The tool \(TextSanitizer.line(tool)) waits, because of the rule \(rule.id)\(reason).\(rest)
      Without an answer within \(limit.forPeople) the call is denied.
      """
  }
}

extension PendingApproval.State {
  /// The reason, for the audit.
  var detail: String? {
    switch self {
    case .cancelled(let why), .failed(let why): why
    case .asked, .approved, .denied, .expired: nil
    }
  }

  /// - Parameter name: the requester's.
  func verdict(by name: String, within limit: Duration) -> ApprovalVerdict {
    switch self {
    case .approved: ApprovalVerdict(allows: true, person: name)
    case .denied: .denied("\(name) denied this call.", by: name)
    case .asked, .expired: .denied("Denied: nobody decided within \(limit.forPeople).")
    case .cancelled(let why), .failed(let why): .denied("Denied: \(why).")
    }
  }
}
