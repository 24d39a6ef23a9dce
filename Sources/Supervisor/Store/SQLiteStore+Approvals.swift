internal import Glibc
package import RelayModel

extension SQLiteStore {
  /// Records a step of an approval, together with the grant that it makes, and forgets the oldest steps.
  ///
  /// - Parameter count: the number of steps that are kept.
  package func record(
    _ event: ApprovalEvent, keeping count: Int, creating grant: ApprovalGrant? = nil
  ) async throws {
    try await commits.write { connection in
      try Self.add(event, keeping: count, connection)
      if let grant { try Self.add(grant, connection) }
    }
  }

  /// The persistent grant that covers a call now.
  package func persistentGrant(
    for fingerprint: String, by requester: Requester, now: Double
  ) async throws -> ApprovalGrant? {
    try await read { try Self.grants($0) }.first { grant in
      grant.fingerprint == fingerprint && grant.requester == requester && grant.isValid(at: now)
    }
  }

  /// The persistent grants whose time is not over, oldest first.
  package func persistentGrants(now: Double) async throws -> [ApprovalGrant] {
    try await read { try Self.grants($0) }.filter { $0.isValid(at: now) }
  }

  /// Removes a persistent grant, and records that.
  ///
  /// - Returns: `nil` where there is none with this id.
  package func revokeGrant(
    _ id: String, keeping count: Int, as event: @escaping @Sendable (ApprovalGrant) -> ApprovalEvent
  ) async throws -> ApprovalGrant? {
    try await commits.write { connection in
      guard let grant = try Self.grants(connection).first(where: { $0.id == id }) else { return nil }
      try connection.run("DELETE FROM approvalGrant WHERE id = ?", .text(id))
      try Self.add(event(grant), keeping: count, connection)
      return grant
    }
  }

  /// Records the end of approvals that were asked before a time and have none.
  package func cancelApprovals(
    askedBefore time: Double, at now: Double, because why: String, keeping count: Int
  ) async throws {
    let events = try await approvalEvents(last: .max)
    let ended = Set(events.filter { $0.kind != .requested }.map(\.approval))
    let open = events.filter { $0.kind == .requested && $0.at < time && !ended.contains($0.approval) }
    guard !open.isEmpty else { return }
    try await commits.write { connection in
      for var event in open {
        (event.kind, event.at, event.detail) = (.cancelled, now, why)
        try Self.add(event, keeping: count, connection)
      }
    }
  }

  /// The latest steps, oldest first.
  package func approvalEvents(last count: Int) async throws -> [ApprovalEvent] {
    try await read { try Self.events($0, last: count) }
  }

  /// The latest steps and the persistent grants, read beside a daemon that runs; none of a database that has no such tables.
  package static func approvals(
    in path: String, last count: Int
  ) throws(StoreError) -> (events: [ApprovalEvent], grants: [ApprovalGrant]) {
    guard access(path, R_OK) == 0 else { return ([], []) }
    do {
      let connection = try SQLiteConnection(path: path)
      try connection.execute("PRAGMA busy_timeout = 1000")
      let hasTables = try connection.rows("SELECT 1 FROM sqlite_master WHERE name = 'approvalGrant'") { _ in true }
      if hasTables.isEmpty { return ([], []) }
      return (try events(connection, last: count), try grants(connection))
    } catch {
      throw StoreError(error, path: path)
    }
  }

  // MARK: - Rows

  private static func add(_ event: ApprovalEvent, keeping count: Int, _ connection: SQLiteConnection) throws {
    let place = event.requester?.conversation
    try connection.run(
      """
      INSERT INTO approvalEvent
        (kind, at, approval, session, instance, conversation, person, tool, category, rule, summary, detail)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, .text(event.kind.rawValue), .real(event.at), .text(event.approval), .text(event.session),
      .text(place?.instance), .text(place?.conversation), .text(event.requester?.person), .text(event.tool),
      .text(event.category), .text(event.rule), .text(event.summary), .text(event.detail))
    try connection.run(
      "DELETE FROM approvalEvent WHERE number <= (SELECT max(number) FROM approvalEvent) - ?", .integer(count))
  }

  private static func events(_ connection: SQLiteConnection, last count: Int) throws -> [ApprovalEvent] {
    try connection.rows(
      """
      SELECT kind, at, approval, session, instance, conversation, person, tool, category, rule, summary, detail
      FROM approvalEvent ORDER BY number DESC LIMIT ?
      """, .integer(count)
    ) { row in
      // A later version may know more kinds.
      guard let kind = ApprovalEvent.Kind(rawValue: row.text(0)) else { return nil }
      let requester = row.optionalText(6).map { person in
        Requester(
          conversation: ConversationKey(instance: row.text(4), conversation: row.text(5)), person: person)
      }
      return ApprovalEvent(
        kind, at: row.real(1), approval: row.text(2), session: row.text(3), requester: requester, tool: row.text(7),
        category: row.text(8), rule: row.text(9), summary: row.text(10), detail: row.optionalText(11))
    }.reversed()
  }

  /// - Parameter grant: grants whose time was over when it was created are removed.
  private static func add(_ grant: ApprovalGrant, _ connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM approvalGrant WHERE expiresAt <= ?", .real(grant.createdAt))
    try connection.run(
      """
      INSERT INTO approvalGrant (id, fingerprint, instance, conversation, person, summary, createdAt, expiresAt)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, .text(grant.id), .text(grant.fingerprint), .text(grant.requester.conversation.instance),
      .text(grant.requester.conversation.conversation), .text(grant.requester.person), .text(grant.summary),
      .real(grant.createdAt), .real(grant.expiresAt))
  }

  private static func grants(_ connection: SQLiteConnection) throws -> [ApprovalGrant] {
    try connection.rows(
      """
      SELECT id, fingerprint, instance, conversation, person, summary, createdAt, expiresAt
      FROM approvalGrant ORDER BY createdAt, id
      """
    ) { row in
      ApprovalGrant(
        id: row.text(0), scope: .persistent, fingerprint: row.text(1),
        requester: Requester(
          conversation: ConversationKey(instance: row.text(2), conversation: row.text(3)), person: row.text(4)),
        summary: row.text(5), createdAt: row.real(6), expiresAt: row.real(7))
    }
  }
}
