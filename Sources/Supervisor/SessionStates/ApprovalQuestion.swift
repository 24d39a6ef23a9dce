package import Approvals
package import RelayModel

/// The question whether a tool call may be made. Only its requester answers it, and only with a button or its id.
package struct ApprovalQuestion: Sendable, Hashable, Codable {
  package var id: String
  package var requester: Requester
  /// The requester as people know it.
  package var requesterName: String
  package var offer: ApprovalOffer
  /// The call, redacted and shortened.
  package var summary: String

  package init(id: String, requester: Requester, requesterName: String, offer: ApprovalOffer, summary: String) {
    self.id = id
    self.requester = requester
    self.requesterName = requesterName
    self.offer = offer
    self.summary = summary
  }

  /// The words that answer it.
  package var replies: [String] { offer.decisions.map { ApprovalReply($0, id: id).text } }
}

/// The origin of the turn that an agent works on.
package enum TurnOrigin: Sendable, Equatable {
  /// A person at a terminal of this machine.
  case local
  case remote(Requester, name: String)
  /// No message is being worked on, or nobody wrote it.
  case nobody
}
