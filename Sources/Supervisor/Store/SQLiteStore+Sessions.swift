internal import Logging
internal import RelayJSON
package import RelayModel
internal import RelayWire

extension SQLiteStore {
  package func saveSession(_ session: SessionRecord) async throws {
    try await commits.write { connection in
      try connection.run(
        """
        INSERT INTO session
          (id, name, directory, model, wantsToolImages, role, homeInstance, homeConversation, shownModel, isAttached)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, directory = excluded.directory, model = excluded.model,
          wantsToolImages = excluded.wantsToolImages, role = excluded.role, homeInstance = excluded.homeInstance,
          homeConversation = excluded.homeConversation, shownModel = excluded.shownModel,
          isAttached = excluded.isAttached
        """, .text(session.id), .text(session.name), .text(session.directory), .text(session.model),
        .integer(session.wantsToolImages ? 1 : 0), .text(session.role?.rawValue),
        .text(session.home?.instance), .text(session.home?.conversation), .text(session.shownModel),
        .integer(session.isAttached ? 1 : 0))
    }
  }

  /// Keeps the model that people are shown, of a session that is stored. With some later commit: the agent tells it again.
  package func scheduleShownModel(_ model: String, of session: String) {
    commits.write {
      try $0.run("UPDATE session SET shownModel = ? WHERE id = ?", .text(model), .text(session))
    } then: { [logger] outcome in
      guard case .failure(let error) = outcome else { return }
      logger?.error("the model of a session was not stored: \(error)", metadata: ["session": .string(session)])
    }
  }

  /// Stores a notice that people see once.
  ///
  /// - Returns: false where it was stored before.
  package func keepNotice(_ text: String) async throws -> Bool {
    let isKept = try await read { connection in
      try connection.rows("SELECT 1 FROM notice WHERE text = ?", .text(text)) { _ in true }.first ?? false
    }
    if isKept { return false }
    return try await commits.write { try $0.run("INSERT OR IGNORE INTO notice (text) VALUES (?)", .text(text)) > 0 }
  }

  /// Removes the session. Its conversations stay bound to it, to be told that it is gone.
  package func removeSession(_ id: String) async throws {
    try await commits.write { try $0.run("DELETE FROM session WHERE id = ?", .text(id)) }
  }

  /// In the order they were made.
  package func sessions() async throws -> [SessionRecord] {
    try await read { connection in
      // Thousands of sessions share the text of their directory.
      var directory = ""
      return try connection.rows(
        """
        SELECT id, name, directory, model, wantsToolImages, role, homeInstance, homeConversation, shownModel, isAttached
        FROM session ORDER BY number
        """
      ) { row in
        let text = row.text(2)
        if text != directory { directory = text }
        return SessionRecord(
          id: row.text(0), name: row.text(1), directory: directory, model: row.optionalText(3),
          wantsToolImages: row.integer(4) != 0, role: row.optionalText(5).flatMap(SessionRole.init),
          home: row.optionalText(6).flatMap { instance in
            row.optionalText(7).map { ConversationKey(instance: instance, conversation: $0) }
          }, shownModel: row.optionalText(8), isAttached: row.integer(9) != 0)
      }
    }
  }

  // MARK: - Who talks to which

  package func binding(of conversation: ConversationKey) async throws -> String? {
    try await read { connection in
      try connection.rows(
        "SELECT session FROM binding WHERE instance = ? AND conversation = ?", .text(conversation.instance),
        .text(conversation.conversation)
      ) { $0.text(0) }.first
    }
  }

  package func bindings(of instance: String) async throws -> [Binding] {
    try await read { [self] connection in
      try connection.rows("SELECT conversation, session, body FROM binding WHERE instance = ?", .text(instance)) {
        row in
        let key = ConversationKey(instance: instance, conversation: row.text(0))
        return readable("the session of \(key)") {
          Binding(
            key: key, conversation: try JSONCoding.decode(Conversation.self, from: row.blob(2)), session: row.text(1))
        }
      }
    }
  }

  /// The conversations that talk to a session.
  package func conversations(of session: String) async throws -> [ConversationKey] {
    try await read { connection in
      try connection.rows("SELECT instance, conversation FROM binding WHERE session = ?", .text(session)) {
        ConversationKey(instance: $0.text(0), conversation: $0.text(1))
      }
    }
  }

  /// Binds a conversation. Messages that came before `cause` stay with the session they were for.
  package func bind(_ binding: Binding, because cause: MessageKey?) async throws {
    let body = try JSONCoding.encode(binding.conversation)
    try await commits.write { connection in
      if let cause { try Self.keepSession(of: binding.key, before: cause, connection) }
      try Self.bind(binding, body, connection)
    }
  }

  /// - Parameter body: the conversation, encoded.
  static func bind(_ binding: Binding, _ body: [UInt8], _ connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO binding (instance, conversation, session, body) VALUES (?, ?, ?, ?)",
      .text(binding.key.instance), .text(binding.key.conversation), .text(binding.session), .blob(body))
  }

  /// Records the conversation's session on the unfinished messages that came before a command which turns the
  /// conversation to another session.
  private static func keepSession(
    of key: ConversationKey, before cause: MessageKey, _ connection: SQLiteConnection
  ) throws {
    try connection.run(
      """
      UPDATE message SET session = (SELECT session FROM binding WHERE instance = ?1 AND conversation = ?2)
      WHERE instance = ?1 AND conversation = ?2 AND endedAt IS NULL AND session IS NULL
        AND number < (SELECT number FROM message WHERE instance = ?1 AND conversation = ?2 AND id = ?3)
      """, .text(key.instance), .text(key.conversation), .text(cause.id))
  }

  /// Instances of which anything unfinished or bound is stored.
  package func instances() async throws -> Set<String> {
    try await read { connection in
      // From each bound instance to the next: thousands of conversations may be bound.
      Set(
        try connection.rows(
          """
          WITH RECURSIVE bound (instance) AS (
            SELECT min(instance) FROM binding
            UNION ALL SELECT (SELECT min(instance) FROM binding WHERE instance > bound.instance) FROM bound
              WHERE instance IS NOT NULL)
          SELECT instance FROM bound WHERE instance IS NOT NULL
          UNION SELECT instance FROM message WHERE endedAt IS NULL
          UNION SELECT instance FROM outbound WHERE settledAt IS NULL OR isOpen
          """
        ) { $0.text(0) })
    }
  }

  /// Forgets an instance that will not return: its messages end, and its unfinished sends are dropped. No end is kept to be
  /// reported: nobody is left to take the report.
  package func forget(instance: String) async throws {
    let time = now()
    try await commits.write { connection in
      let instance = SQLiteConnection.Value.text(instance)
      let stages: [MessageStage] = [
        .received, .handling, .dispatching(session: "", after: .unknown), .accepted(session: ""),
      ]
      for stage in stages {
        guard let end = MessageLifecycle.conclusion(ofAbandoned: stage) else { continue }
        try connection.run(
          "UPDATE message SET stage = ?4, endedAt = ?2 WHERE instance = ?1 AND stage = ?3 AND endedAt IS NULL",
          instance, .real(time), .integer(stage.code), .integer(end.stage.code))
      }
      try connection.run("UPDATE message SET body = NULL WHERE instance = ? AND body IS NOT NULL", instance)
      try connection.run(
        """
        UPDATE outbound SET result = 2, settledAt = ?2, isOpen = 0, body = NULL
        WHERE instance = ?1 AND (settledAt IS NULL OR isOpen)
        """, instance, .real(time))
      try connection.run("DELETE FROM binding WHERE instance = ?", instance)
      try connection.run("DELETE FROM pluginState WHERE instance = ?", instance)
    }
  }

  /// - Parameter session: only where it still is this one; nil: whichever it is.
  package func unbind(_ conversation: ConversationKey, from session: String? = nil) async throws {
    try await commits.write { connection in
      try connection.run(
        "DELETE FROM binding WHERE instance = ?1 AND conversation = ?2 AND (?3 IS NULL OR session = ?3)",
        .text(conversation.instance), .text(conversation.conversation), .text(session))
    }
  }
}
