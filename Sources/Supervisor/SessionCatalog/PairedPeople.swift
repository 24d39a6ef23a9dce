package import Pairings
internal import RelayConcurrency
package import RelayModel
package import RelayStore

/// The people who were admitted to private conversations at the terminal: stored, and known without waiting.
package final class PairedPeople: Sendable {
  private let store: SQLiteStore
  private let book = Locked(PairingBook())
  private let observer = Locked(Observer())

  /// A structure, because a closure stored directly in a generic value is wrapped again at each access in place.
  private struct Observer { var told: (@Sendable (Set<String>) -> Void)? }

  package init(store: SQLiteStore) { self.store = store }

  /// Reads what earlier daemons have stored; before anything arrives.
  package func restore() async throws {
    let read = PairingBook(pairings: try await store.pairings(), trusted: try await store.trustedPeople())
    book.withLock { $0 = read }
  }

  /// Sets the receiver of the sessions whose pairings have changed.
  package func whenChanged(_ told: @escaping @Sendable (Set<String>) -> Void) {
    observer.withLock { $0.told = told }
  }

  private func noteChange(of pairings: [Pairing]) {
    let sessions = Set(pairings.compactMap(\.session))
    if !sessions.isEmpty { observer.withLock { $0.told }?(sessions) }
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
  ///
  /// - Parameter choice: the session that the conversation talks to from now on, stored in the same step.
  package func add(_ pairing: Pairing, choosing choice: Binding?, trusting: Bool) async throws {
    let person =
      trusting
      ? TrustedPerson(
        instance: pairing.conversation.instance, person: pairing.person, name: pairing.name, since: pairing.createdAt)
      : nil
    try await store.add(pairing, trusting: person, choosing: choice)
    book.withLock { book in
      book.put(pairing)
      if let person { book.trust(person) }
    }
    noteChange(of: [pairing])
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
    noteChange(of: pairings + successors)
    try await store.end(pairings, as: state, successors: successors)
  }

  /// - Returns: false where the person was not trusted.
  package func untrust(_ person: String, of instance: String) async throws -> Bool {
    let isKnown = try await store.untrust(person, of: instance)
    book.withLock { $0.untrust(person, of: instance) }
    return isKnown
  }
}
