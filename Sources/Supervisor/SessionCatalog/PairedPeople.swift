package import Pairings
internal import RelayConcurrency
package import RelayModel
package import RelayStore

/// The people who were admitted to private conversations at the terminal: stored, and known without waiting.
package final class PairedPeople: Sendable {
  private let store: SQLiteStore
  private let book = Locked(PairingBook())

  package init(store: SQLiteStore) { self.store = store }

  /// Reads what earlier daemons have stored; before anything arrives.
  package func restore() async throws {
    let read = PairingBook(pairings: try await store.pairings(), trusted: try await store.trustedPeople())
    book.withLock { $0 = read }
  }

  package var active: [Pairing] { book.withLock { $0.active } }
  package var trusted: [TrustedPerson] { book.withLock { $0.trusted } }

  package func admits(_ person: String, in conversation: ConversationKey) -> Bool {
    book.withLock { $0.admits(person, in: conversation) }
  }

  package func trusts(_ person: String, of instance: String) -> Bool {
    book.withLock { $0.trusts(person, of: instance) }
  }

  /// - Parameter isConfigured: the configuration admits this person by id.
  package func rights(
    in conversation: ConversationKey, isConfigured: (String) -> Bool
  ) -> ConversationRights {
    book.withLock { $0.rights(in: conversation, isConfigured: isConfigured) }
  }

  /// Admits a person once that is stored.
  package func add(_ pairing: Pairing, trusting: Bool) async throws {
    let person =
      trusting
      ? TrustedPerson(
        instance: pairing.conversation.instance, person: pairing.person, name: pairing.name, since: pairing.createdAt)
      : nil
    try await store.add(pairing, trusting: person)
    book.withLock { book in
      book.put(pairing)
      if let person { book.trust(person) }
    }
  }

  /// Ends pairings. They count no more from the call on, whether that can be stored or not.
  package func end(
    _ pairings: [Pairing], as state: Pairing.State, successors: [Pairing] = []
  ) async throws {
    book.withLock { book in
      for var pairing in pairings {
        pairing.state = state
        book.put(pairing)
      }
      for successor in successors { book.put(successor) }
    }
    try await store.end(pairings, as: state, successors: successors)
  }

  /// - Returns: false where the person was not trusted.
  package func untrust(_ person: String, of instance: String) async throws -> Bool {
    let isKnown = try await store.untrust(person, of: instance)
    book.withLock { $0.untrust(person, of: instance) }
    return isKnown
  }
}
