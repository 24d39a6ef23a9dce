package import RelayModel

/// The sessions that a conversation may address.
package enum ConversationRights: Sendable, Equatable {
  /// As the configuration says: the person is listed there, or was never paired.
  case configured
  /// Only these sessions; where `begins`, also those that the conversation has begun.
  case paired(sessions: Set<String>, begins: Bool)
  /// None: every pairing of the conversation has been revoked.
  case revoked
}

/// All pairings and the people who are trusted. A pure value.
package struct PairingBook: Sendable {
  private struct Person: Hashable {
    let instance: String
    let id: String
  }

  private var pairings: [ConversationKey: [Pairing]] = [:]
  private var people: [Person: TrustedPerson] = [:]

  package init(pairings: [Pairing] = [], trusted: [TrustedPerson] = []) {
    for pairing in pairings { put(pairing) }
    for person in trusted { trust(person) }
  }

  /// In the order in which they were made.
  package var active: [Pairing] {
    pairings.values.joined().filter { $0.state == .active }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
  }

  /// Adds a pairing, or replaces the one of the same person, conversation and session.
  package mutating func put(_ pairing: Pairing) {
    var others = pairings[pairing.conversation] ?? []
    others.removeAll { $0.person == pairing.person && $0.session == pairing.session }
    pairings[pairing.conversation] = others + [pairing]
  }

  /// - Parameter isConfigured: the configuration admits this person by id.
  package func rights(in conversation: ConversationKey, isConfigured: (String) -> Bool) -> ConversationRights {
    guard let known = pairings[conversation], let last = known.last, !isConfigured(last.person) else {
      return .configured
    }
    let active = known.filter { $0.state == .active && $0.person == last.person }
    if active.isEmpty { return .revoked }
    return .paired(
      sessions: Set(active.compactMap(\.session)), begins: active.contains { $0.session == nil })
  }

  /// The person has a pairing in this very conversation.
  package func admits(_ person: String, in conversation: ConversationKey) -> Bool {
    pairings[conversation]?.contains { $0.person == person && $0.state == .active } ?? false
  }

  // MARK: - Trust

  package var trusted: [TrustedPerson] {
    people.values.sorted { ($0.instance, $0.since, $0.person) < ($1.instance, $1.since, $1.person) }
  }

  package func trusts(_ person: String, of instance: String) -> Bool {
    people[Person(instance: instance, id: person)] != nil
  }

  package mutating func trust(_ person: TrustedPerson) {
    people[Person(instance: person.instance, id: person.person)] = person
  }

  package mutating func untrust(_ person: String, of instance: String) {
    people[Person(instance: instance, id: person)] = nil
  }
}
