/// The decision about one tool call, for the agent.
package struct ApprovalVerdict: Sendable, Equatable {
  package var allows: Bool
  /// For the agent: the reason of a denial.
  package var reason: String?
  /// The name of the person who decided, or whose grant it is.
  package var person: String?

  package init(allows: Bool, reason: String? = nil, person: String? = nil) {
    self.allows = allows
    self.reason = reason
    self.person = person
  }

  /// Nobody needs to be asked.
  static let allowed = ApprovalVerdict(allows: true)

  static func denied(_ reason: String, by person: String? = nil) -> ApprovalVerdict {
    ApprovalVerdict(allows: false, reason: reason, person: person)
  }
}
