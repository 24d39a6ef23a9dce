internal import RelayJSON
package import RelayModel
internal import RelayWire

extension SQLiteStore {
  /// Every pairing, those that are over included, in the order in which they were made.
  package func pairings() async throws -> [Pairing] {
    try await read { connection in
      try connection.rows(
        """
        SELECT id, instance, conversation, person, session, name, label, state, createdAt FROM pairing
        ORDER BY createdAt, id
        """
      ) { row in
        let session = row.text(4)
        return Pairing(
          id: row.text(0), conversation: ConversationKey(instance: row.text(1), conversation: row.text(2)),
          person: row.text(3), name: row.text(5), session: session.isEmpty ? nil : session,
          label: row.optionalText(6),
          // A state of a later version gives no right.
          state: Pairing.State(rawValue: row.text(7)) ?? .revoked, createdAt: row.real(8))
      }
    }
  }

  /// Keeps a pairing in place of an earlier one of the same person, conversation and session.
  ///
  /// - Parameters:
  ///   - person: is trusted with it.
  ///   - choice: the session that the conversation talks to from now on, in the same step.
  package func add(
    _ pairing: Pairing, trusting person: TrustedPerson? = nil, choosing choice: Binding? = nil
  ) async throws {
    let body = try choice.map { try JSONCoding.encode($0.conversation) }
    try await commits.write { connection in
      try Self.add(pairing, connection)
      if let choice, let body { try Self.bind(choice, body, connection) }
      guard let person else { return }
      try connection.run(
        "INSERT OR REPLACE INTO trustedPerson (instance, person, name, since) VALUES (?, ?, ?, ?)",
        .text(person.instance), .text(person.person), .text(person.name), .real(person.since))
    }
  }

  /// Ends pairings in one step with the choices of their sessions, so that no later daemon goes on with one.
  ///
  /// - Parameter successors: the pairings that take their place.
  package func end(_ pairings: [Pairing], as state: Pairing.State, successors: [Pairing] = []) async throws {
    try await commits.write { connection in
      for pairing in pairings {
        try connection.run("UPDATE pairing SET state = ? WHERE id = ?", .text(state.rawValue), .text(pairing.id))
        guard state == .revoked else { continue }
        try connection.run(
          "DELETE FROM binding WHERE instance = ?1 AND conversation = ?2 AND (?3 IS NULL OR session = ?3)",
          .text(pairing.conversation.instance), .text(pairing.conversation.conversation), .text(pairing.session))
      }
      for successor in successors { try Self.add(successor, connection) }
    }
  }

  package func trustedPeople() async throws -> [TrustedPerson] {
    try await read { connection in
      try connection.rows("SELECT instance, person, name, since FROM trustedPerson") { row in
        TrustedPerson(instance: row.text(0), person: row.text(1), name: row.text(2), since: row.real(3))
      }
    }
  }

  /// - Returns: false where the person was not trusted.
  package func untrust(_ person: String, of instance: String) async throws -> Bool {
    try await commits.write {
      try $0.run(
        "DELETE FROM trustedPerson WHERE instance = ? AND person = ?", .text(instance), .text(person)) > 0
    }
  }

  private static func add(_ pairing: Pairing, _ connection: SQLiteConnection) throws {
    try connection.run(
      """
      INSERT OR REPLACE INTO pairing (id, instance, conversation, person, session, name, label, state, createdAt)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, .text(pairing.id), .text(pairing.conversation.instance), .text(pairing.conversation.conversation),
      .text(pairing.person), .text(pairing.session ?? ""), .text(pairing.name), .text(pairing.label),
      .text(pairing.state.rawValue), .real(pairing.createdAt))
  }
}
