package import RelayModel
package import RelayWire

// The requests about people who are admitted at the terminal: of the command line, and of pi in a terminal, for its own session.

/// Makes a code that admits whoever sends it to a messenger in a direct message, once that is confirmed here.
package struct PairingBeginRequest: WireRequest, Equatable {
  package static let method = "pairing.begin"
  package typealias Reply = PairingOffer
  /// `KIND` or `KIND:INSTANCE`.
  package var messenger: String
  /// `nil`: the person begins sessions of their own. For pi in a terminal always its own session.
  package var session: String?
  /// A name for lists of pairings.
  package var name: String?

  package init(messenger: String, session: String? = nil, name: String? = nil) {
    self.messenger = messenger
    self.session = session
    self.name = name
  }
}

/// Waits for the next step of a pairing. The code is void when the connection ends meanwhile.
package struct PairingWaitRequest: WireRequest, Equatable {
  package static let method = "pairing.wait"
  package typealias Reply = PairingStep
  package var pairing: String

  package init(pairing: String) { self.pairing = pairing }
}

/// Decides about a person who has sent the code.
package struct PairingDecideRequest: WireRequest, Equatable {
  package static let method = "pairing.decide"

  package struct Reply: Codable, Sendable, Equatable {
    package var text: String
  }

  package var pairing: String
  package var decision: PairingDecision

  package init(pairing: String, decision: PairingDecision) {
    self.pairing = pairing
    self.decision = decision
  }
}

/// The pairings that count now, and the people who need no confirmation.
package struct PairingListRequest: WireRequest, Equatable {
  package static let method = "pairing.list"
  /// The notification to an extension that the list of its session has changed.
  package static let changed = "pairing.changed"

  package struct Reply: Codable, Sendable, Equatable {
    package var pairings: [Pairing]
    package var trusted: [TrustedPerson]
  }

  package init() {}
}

/// Revokes pairings: those that match all that is named.
package struct PairingRevokeRequest: WireRequest, Equatable {
  package static let method = "pairing.revoke"

  package struct Reply: Codable, Sendable, Equatable {
    package var revoked: [Pairing]
  }

  package var session: String?
  /// `KIND` or `KIND:INSTANCE`.
  package var messenger: String?
  /// The platform's id of the person.
  package var user: String?

  package init(session: String? = nil, messenger: String? = nil, user: String? = nil) {
    self.session = session
    self.messenger = messenger
    self.user = user
  }
}

/// A person's next pairing needs a confirmation again.
package struct PairingUntrustRequest: WireRequest, Equatable {
  package static let method = "pairing.untrust"
  package typealias Reply = Empty
  /// `KIND` or `KIND:INSTANCE`.
  package var messenger: String
  package var user: String

  package init(messenger: String, user: String) {
    self.messenger = messenger
    self.user = user
  }
}

extension PairingListRequest.Reply {
  /// The list in words.
  package var lines: [String] {
    let paired = pairings.map { pairing in
      let label = pairing.label.map { " \"\($0)\"" } ?? ""
      let what = pairing.session.map { "with the session \($0)" } ?? "with sessions of their own"
      return "\(pairing.name)\(label) (\(pairing.person)) on \(pairing.conversation.instance), paired \(what)"
    }
    let known = trusted.map { "\($0.name) (\($0.person)) on \($0.instance), trusted" }
    return paired.isEmpty && known.isEmpty ? ["Nobody is paired or trusted."] : paired + known
  }
}
