internal import RelayWire

/// A decision in words: `relay approval approve ID`, or `relay approve ID`.
package struct ApprovalReply: Sendable, Equatable {
  package let decision: ApprovalDecision
  package let id: String

  /// Ids of approvals begin so, which tells them from those of anything else that is approved.
  package static let idPrefix = "a_"

  package init(_ decision: ApprovalDecision, id: String) {
    self.decision = decision
    self.id = id
  }

  /// The result is `nil` for other words.
  package init?(_ text: String) {
    var words = text.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)[...]
    guard words.popFirst()?.trimmingSlash == "relay" else { return nil }
    if words.first == "approval" { words.removeFirst() }
    guard words.count == 2, let decision = words.popFirst().flatMap(ApprovalDecision.init), let id = words.popFirst(),
      id.hasPrefix(Self.idPrefix)
    else { return nil }
    self.init(decision, id: id)
  }

  /// The words that a person replies with.
  package var text: String { "relay approval \(decision.rawValue) \(id)" }
}

extension String {
  fileprivate var trimmingSlash: Substring { hasPrefix("/") ? dropFirst() : self[...] }
}
