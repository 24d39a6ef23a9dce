/// A person's permission to act in one private conversation, given at the terminal of this machine.
package struct Pairing: Sendable, Equatable, Codable {
  package enum State: String, Sendable, Codable, CaseIterable {
    case active
    case revoked
    /// The session's terminal has turned to another session, and another pairing has taken this one's place.
    case moved
  }

  package var id: String
  package var conversation: ConversationKey
  /// The platform's id of the person.
  package var person: String
  /// The person's name as it is shown: one line.
  package var name: String
  /// The session that the person may address; `nil` for sessions that the person begins in the conversation.
  package var session: String?
  /// The name that the pairing was given at the terminal.
  package var label: String?
  package var state: State
  /// Seconds since 1970.
  package var createdAt: Double

  package init(
    id: String, conversation: ConversationKey, person: String, name: String, session: String?, label: String? = nil,
    state: State = .active, createdAt: Double
  ) {
    self.id = id
    self.conversation = conversation
    self.person = person
    self.name = name
    self.session = session
    self.label = label
    self.state = state
    self.createdAt = createdAt
  }
}

/// A person whose pairings need no confirmation. Trust gives no right by itself.
package struct TrustedPerson: Sendable, Equatable, Codable {
  package var instance: String
  /// The platform's id.
  package var person: String
  package var name: String
  /// Seconds since 1970.
  package var since: Double

  package init(instance: String, person: String, name: String, since: Double) {
    self.instance = instance
    self.person = person
    self.name = name
    self.since = since
  }
}

/// A pairing that waits for a person: the code, and the lines that show it in a terminal.
package struct PairingOffer: Sendable, Equatable, Codable {
  /// Names the pairing in later requests; it is not the code.
  package var pairing: String
  /// The messenger's instance.
  package var messenger: String
  /// The digits, as `NNN-NNN`.
  package var code: String
  /// A link that opens the messenger with a code of its own, where the messenger has such links.
  package var link: String?
  /// Instructions for the person, with the link as a picture.
  package var lines: [String]
  package var expiresInSeconds: Int

  package init(
    pairing: String, messenger: String, code: String, link: String?, lines: [String], expiresInSeconds: Int
  ) {
    self.pairing = pairing
    self.messenger = messenger
    self.code = code
    self.link = link
    self.lines = lines
    self.expiresInSeconds = expiresInSeconds
  }
}

/// A step of a pairing, as the terminal is told it.
package struct PairingStep: Sendable, Equatable, Codable {
  package enum Kind: String, Sendable, Codable {
    /// Somebody has sent the code, and a confirmation is awaited.
    case asked
    case paired
    /// Nobody was paired, and the code is void.
    case ended
  }

  package var kind: Kind
  /// The step in words for the person at the terminal.
  package var text: String
  /// The seconds in which a confirmation counts.
  package var withinSeconds: Int?
  package var pairing: Pairing?

  package init(_ kind: Kind, _ text: String, withinSeconds: Int? = nil, pairing: Pairing? = nil) {
    self.kind = kind
    self.text = text
    self.withinSeconds = withinSeconds
    self.pairing = pairing
  }
}

/// The decision of the person at the terminal about somebody who has sent the code.
package enum PairingDecision: String, Sendable, Codable {
  case once
  /// As `once`, and later pairings of the same person need no confirmation.
  case trust
  case deny
}
