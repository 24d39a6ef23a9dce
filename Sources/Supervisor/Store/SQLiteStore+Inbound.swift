internal import Logging
package import RelayJSON
package import RelayModel
package import RelayWire

extension MessageKey {
  var values: (SQLiteConnection.Value, SQLiteConnection.Value, SQLiteConnection.Value) {
    (.text(conversation.instance), .text(conversation.conversation), .text(id))
  }
}

extension SQLiteStore {
  private static let whichMessage = "instance = ?1 AND conversation = ?2 AND id = ?3"

  /// Stores a message and, in the same step, the plugin's new state. `false`: it was stored before.
  package func accept(_ message: StoredMessage, state: JSONValue?) async throws -> Bool {
    try await commits.write(try Self.acceptance(of: message, encoded: nil, state: state))
  }

  /// The same for a caller that has more to store meanwhile: messages that arrive together share a commit. `then` is
  /// called in the order of the calls, on the store's thread.
  ///
  /// - Parameter encoded: the message as JSON, if the caller has it.
  package func accept(
    _ message: StoredMessage, encoded: [UInt8]?, state: JSONValue?,
    then: @escaping @Sendable (Result<Bool, any Error>) -> Void
  ) {
    do {
      commits.write(try Self.acceptance(of: message, encoded: encoded, state: state), then: then)
    } catch {
      then(.failure(error))
    }
  }

  /// Stores a message that is made of an ended one, whose words were kept and go in the same step: it happens once.
  ///
  /// - Returns: the message; nil when nothing is kept of the ended one, or it was stored before.
  package func accept(
    runningAgain key: MessageKey, as again: @escaping @Sendable (MessageReceived) -> MessageReceived
  ) async throws -> MessageReceived? {
    let values = key.values
    return try await commits.write { connection in
      let kept = try connection.rows(
        "SELECT body FROM message WHERE \(Self.whichMessage) AND endedAt IS NOT NULL AND body IS NOT NULL", values.0,
        values.1, values.2
      ) { try JSONCoding.decode(MessageReceived.self, from: $0.blob(0)) }
      guard let message = kept.first.map(again) else { return nil }
      let stored = StoredMessage(key: MessageKey(conversation: key.conversation, id: message.id), message: message)
      guard try Self.acceptance(of: stored, encoded: nil, state: nil)(connection) else { return nil }
      try connection.run("UPDATE message SET body = NULL WHERE \(Self.whichMessage)", values.0, values.1, values.2)
      return message
    }
  }

  /// Returns when everything given to the store before is stored and reported.
  package func settled() async throws { try await commits.write { _ in } }

  private static func acceptance(
    of message: StoredMessage, encoded: [UInt8]?, state: JSONValue?
  ) throws -> @Sendable (SQLiteConnection) throws -> Bool {
    let key = message.key.values
    let instance = message.key.conversation.instance
    var words = message.message
    words.state = nil
    let body = try encoded ?? JSONCoding.encode(words)
    let stateBody = state.map { JSONCoding.encode($0) }
    let isAnswer = message.isAnswer
    return { connection in
      if let stateBody { try Self.save(state: stateBody, of: instance, connection) }
      return try connection.run(
        """
        INSERT INTO message (instance, conversation, id, stage, body, isAnswer) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        """, key.0, key.1, key.2, .integer(MessageStage.received.code), .blob(body), .integer(isAnswer ? 1 : 0)) > 0
    }
  }

  /// Stores a change of a message's stage; a message that has ended stays as it is.
  ///
  /// - Parameter session: the session whose agent it is given to, where it is.
  package func advance(_ key: MessageKey, _ change: StageChange, in session: String?) async throws {
    let stage = change.stage(in: session ?? "")
    try await commits.write { try Self.advance(key, to: stage, $0) }
  }

  /// Stores the changes that the session's transcript calls for: it tells nothing of these messages once the agent gets
  /// others.
  package func resolve(_ changes: [DispatchedMessage: StageChange], in session: String) async throws {
    guard !changes.isEmpty else { return }
    try await commits.write { connection in
      for (one, change) in changes { try Self.resolve(one, change.stage(in: session), in: session, connection) }
    }
  }

  /// Changes a message that is still stored so.
  private static func resolve(
    _ one: DispatchedMessage, _ stage: MessageStage, in session: String, _ connection: SQLiteConnection
  ) throws {
    let key = one.message.values
    // A message that waits again does so as a prompt: the question that it may have answered is gone.
    try connection.run(
      """
      UPDATE message SET stage = ?6, entryBefore = CASE WHEN ?6 IN (0, 2) THEN ?7 ELSE entryBefore END,
        isAnswer = CASE WHEN ?6 = 0 THEN 0 ELSE isAnswer END
      WHERE \(whichMessage) AND stage = 2 AND session = ?4 AND entryBefore = ?5 AND endedAt IS NULL
      """, key.0, key.1, key.2, .text(session), .text(one.position.entry), .integer(stage.code),
      .text(stage.entryBefore))
  }

  /// Messages that are stored as on their way to a session's agent, where the session's entries can tell of them, with
  /// their words.
  package func dispatching(to session: String) async throws -> [DispatchedMessage: String] {
    try await read { connection in
      let all = try connection.rows(
        """
        SELECT instance, conversation, id, entryBefore, body FROM message
        WHERE session = ? AND stage = 2 AND entryBefore IS NOT NULL AND endedAt IS NULL
        """, .text(session)
      ) { row in
        let place = ConversationKey(instance: row.text(0), conversation: row.text(1))
        let one = DispatchedMessage(
          message: MessageKey(conversation: place, id: row.text(2)), position: TranscriptPosition(entry: row.text(3)))
        // A message that cannot be read is not run, and is reported elsewhere.
        return (one, (try? JSONCoding.decode(MessageReceived.self, from: row.blob(4)))?.text ?? "")
      }
      return Dictionary(all, uniquingKeysWith: { $1 })
    }
  }

  /// Stores the end of a message; its messenger is told only after that.
  package func end(_ end: MessageEnd) async throws {
    let time = now()
    try await commits.write { try Self.end(end, at: time, $0) }
  }

  /// Stores the end of a message that has no messenger, after everything given to the store before.
  ///
  /// - Parameter isTold: false where somebody is yet to be told of the outcome.
  package func scheduleEnd(_ end: MessageEnd, isTold: Bool) {
    let time = now()
    let values = end.key.values
    commits.write { connection in
      try Self.end(end, at: time, connection)
      guard isTold else { return }
      try connection.run("UPDATE message SET outcome = NULL WHERE \(Self.whichMessage)", values.0, values.1, values.2)
    } then: { [logger] outcome in
      guard case .failure(let error) = outcome else { return }
      logger?.error(
        "the end of a message was not stored: \(error)",
        metadata: ["instance": .string(end.key.conversation.instance)])
    }
  }

  static func end(_ end: MessageEnd, at time: Double, _ connection: SQLiteConnection) throws {
    let key = end.key.values
    try connection.run(
      """
      UPDATE message SET stage = ?4, endedAt = ?5, outcome = ?6, body = CASE WHEN ?7 THEN body END
      WHERE \(whichMessage) AND endedAt IS NULL
      """, key.0, key.1, key.2, .integer(end.stage.code), .real(time), .text(end.outcome.rawValue),
      .integer(end.keepsWords ? 1 : 0))
  }

  /// Notes that the messenger knows the outcome, or does not want it. Stored with a later commit: at worst the outcome
  /// is reported twice.
  package func scheduleOutcomeTold(_ key: MessageKey) {
    let values = key.values
    commits.writeAlong {
      try $0.run("UPDATE message SET outcome = NULL WHERE \(Self.whichMessage)", values.0, values.1, values.2)
    } then: { [logger] outcome in
      guard case .failure(let error) = outcome else { return }
      let (instance, conversation) = (key.conversation.instance, key.conversation.conversation)
      logger?.error(
        "the report of an outcome was not stored: \(error)",
        metadata: ["instance": .string(instance), "conversation": .string(conversation)])
    }
  }

  /// Ends that were not reported to the messenger yet.
  package func untoldEnds(of instance: String) async throws -> [MessageEnd] {
    try await read { [self] connection in
      try connection.rows(
        "SELECT conversation, id, stage, outcome FROM message WHERE instance = ? AND outcome IS NOT NULL ORDER BY number",
        .text(instance)
      ) { row in
        let key = MessageKey(
          conversation: ConversationKey(instance: instance, conversation: row.text(0)), id: row.text(1))
        return readable("the end of message \(key.id) of \(key.conversation)") {
          MessageEnd(
            restored: key, try MessageStage(code: row.integer(2), session: nil, entryBefore: nil),
            MessageSettled.Outcome(rawValue: row.text(3)) ?? .handled)
        }
      }
    }
  }

  private static func advance(_ key: MessageKey, to stage: MessageStage, _ connection: SQLiteConnection) throws {
    let key = key.values
    // Where it goes stays known until the message has ended; an older last entry would tell of others.
    try connection.run(
      """
      UPDATE message SET stage = ?4, session = ifnull(?5, session),
        entryBefore = CASE WHEN ?4 IN (0, 2) THEN ?6 ELSE entryBefore END
      WHERE \(whichMessage) AND endedAt IS NULL
      """, key.0, key.1, key.2, .integer(stage.code), .text(stage.session), .text(stage.entryBefore))
  }

  /// Stores the changed text of a waiting message; the text of a message that an agent may have stays.
  ///
  /// - Returns: the message as it is now; `nil` when it does not wait.
  package func replace(_ key: MessageKey, text: String) async throws -> MessageReceived? {
    let key = key.values
    return try await commits.write { connection in
      let found = try connection.rows(
        "SELECT body FROM message WHERE \(Self.whichMessage) AND stage = 0", key.0, key.1, key.2
      ) { try JSONCoding.decode(MessageReceived.self, from: $0.blob(0)) }
      guard var message = found.first else { return nil }
      message.text = text
      try connection.run(
        "UPDATE message SET body = ?4 WHERE \(Self.whichMessage)", key.0, key.1, key.2,
        .blob(try JSONCoding.encode(message)))
      return message
    }
  }

  /// Keeps that a message is not to be run if it still waits, or if it was on its way and turns out not to have arrived.
  package func withdraw(_ key: MessageKey) async throws {
    let key = key.values
    try await commits.write { connection in
      try connection.run(
        "UPDATE message SET isWithdrawn = 1 WHERE \(Self.whichMessage) AND stage IN (0, 2) AND endedAt IS NULL",
        key.0, key.1, key.2)
      // Words that were kept to be run again are taken back, too.
      try connection.run(
        "UPDATE message SET body = NULL WHERE \(Self.whichMessage) AND endedAt IS NOT NULL", key.0, key.1, key.2)
    }
  }

  /// Messages of an instance that have not ended, oldest first.
  package func unfinishedMessages(of instance: String) async throws -> [UnfinishedMessage] {
    try await read { [self] connection in
      try connection.rows(
        """
        SELECT conversation, id, stage, session, entryBefore, body, isAnswer, isWithdrawn FROM message
        WHERE instance = ? AND endedAt IS NULL ORDER BY number
        """, .text(instance)
      ) { row in
        let key = MessageKey(
          conversation: ConversationKey(instance: instance, conversation: row.text(0)), id: row.text(1))
        return readable("message \(key.id) of \(key.conversation)") {
          UnfinishedMessage(
            stored: StoredMessage(
              key: key, message: try JSONCoding.decode(MessageReceived.self, from: row.blob(5)),
              isAnswer: row.integer(6) != 0),
            stage: try MessageStage(
              code: row.integer(2), session: row.optionalText(3), entryBefore: row.optionalText(4)),
            session: row.optionalText(3), isWithdrawn: row.integer(7) != 0)
        }
      }
    }
  }

  /// The stage of a message; `nil` for a message that never came, or so long ago that it is forgotten.
  package func stage(of key: MessageKey) async throws -> MessageStage? {
    let key = key.values
    return try await read { connection in
      try connection.rows(
        "SELECT stage, session, entryBefore FROM message WHERE \(Self.whichMessage)", key.0, key.1, key.2
      ) { row in
        try MessageStage(code: row.integer(0), session: row.optionalText(1), entryBefore: row.optionalText(2))
      }.first
    }
  }
}
