internal import FoundationEssentials
internal import GRDB
internal import RelayWire

extension SQLiteStore {
  package func saveSession(_ session: SessionRecord) async throws {
    try await commits.write { db in
      try db.execute(
        sql: """
          INSERT INTO session (id, name, directory, model, wantsToolImages) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (id) DO UPDATE SET name = excluded.name, directory = excluded.directory, model = excluded.model,
            wantsToolImages = excluded.wantsToolImages
          """,
        arguments: [session.id, session.name, session.directory, session.model, session.wantsToolImages])
    }
  }

  package func removeSession(_ id: String) async throws {
    try await commits.write { db in
      try db.execute(sql: "DELETE FROM session WHERE id = ?", arguments: [id])
      try db.execute(sql: "DELETE FROM binding WHERE session = ?", arguments: [id])
    }
  }

  package func sessions() async throws -> [SessionRecord] {
    try await read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM session ORDER BY number").map { row in
        SessionRecord(
          id: row["id"], name: row["name"], directory: row["directory"], model: row["model"],
          wantsToolImages: row["wantsToolImages"])
      }
    }
  }

  // MARK: - Who talks to which

  package func binding(of conversation: ConversationKey) async throws -> String? {
    try await read { db in
      try String.fetchOne(
        db, sql: "SELECT session FROM binding WHERE instance = ? AND conversation = ?",
        arguments: [conversation.instance, conversation.conversation])
    }
  }

  package func bindings(of instance: String) async throws -> [Binding] {
    try await read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM binding WHERE instance = ?", arguments: [instance]).map { row in
        let body: Data = row["body"]
        return Binding(
          key: ConversationKey(instance: row["instance"], conversation: row["conversation"]),
          conversation: try JSONCoding.decode(Conversation.self, from: Array(body)), session: row["session"])
      }
    }
  }

  package func bind(_ binding: Binding, because cause: MessageKey?) async throws {
    let body = Data(try JSONCoding.encode(binding.conversation))
    try await commits.write { db in
      if let cause {
        let place: StatementArguments = [binding.key.instance, binding.key.conversation]
        try db.execute(
          sql: """
            UPDATE message SET session = (SELECT session FROM binding WHERE instance = ? AND conversation = ?)
            WHERE instance = ? AND conversation = ? AND endedAt IS NULL AND session IS NULL
              AND number < (SELECT number FROM message WHERE instance = ? AND conversation = ? AND id = ?)
            """, arguments: place + place + place + [cause.id])
      }
      try db.execute(
        sql: "INSERT OR REPLACE INTO binding (instance, conversation, session, body) VALUES (?, ?, ?, ?)",
        arguments: [binding.key.instance, binding.key.conversation, binding.session, body])
    }
  }

  package func unbind(_ conversation: ConversationKey) async throws {
    try await commits.write { db in
      try db.execute(
        sql: "DELETE FROM binding WHERE instance = ? AND conversation = ?",
        arguments: [conversation.instance, conversation.conversation])
    }
  }
}
