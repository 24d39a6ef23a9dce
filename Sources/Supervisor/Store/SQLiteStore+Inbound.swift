internal import FoundationEssentials
internal import GRDB
package import RelayWire

extension MessageStage {
  /// How it is written down. Never renumbered.
  var code: Int {
    switch self {
    case .received: 0
    case .handling: 1
    case .dispatching: 2
    case .accepted: 3
    case .settled: 10
    case .interrupted: 11
    case .dropped: 12
    }
  }

  var session: String? {
    switch self {
    case .dispatching(let session, _), .accepted(let session): session
    default: nil
    }
  }

  init(code: Int, session: String?, entryBefore: String?) throws {
    switch code {
    case 0: self = .received
    case 1: self = .handling
    case 2: self = .dispatching(session: session ?? "", after: entryBefore)
    case 3: self = .accepted(session: session ?? "")
    case 10: self = .settled
    case 11: self = .interrupted
    case 12: self = .dropped
    default: throw StoreError("a message is in stage \(code), which this version does not know")
    }
  }
}

extension SQLiteStore: Store {
  private static let whichMessage = "instance = ? AND conversation = ? AND id = ?"

  package func accept(_ message: StoredMessage, state: JSONValue?) async throws -> Bool {
    let key = message.key
    let body = Data(try JSONCoding.encode(message.message))
    let stateBody = try state.map { Data(try JSONCoding.encode($0)) }
    return try await commits.write { db in
      if let stateBody { try Self.save(state: stateBody, of: key.conversation.instance, db) }
      try db.execute(
        sql: """
          INSERT INTO message (instance, conversation, id, stage, body) VALUES (?, ?, ?, 0, ?)
          ON CONFLICT DO NOTHING
          """, arguments: [key.conversation.instance, key.conversation.conversation, key.id, body])
      return db.changesCount > 0
    }
  }

  package func advance(_ key: MessageKey, to stage: MessageStage) async throws {
    let time = now()
    try await commits.write { db in try Self.advance(key, to: stage, at: time, db) }
  }

  static func advance(_ key: MessageKey, to stage: MessageStage, at time: Double, _ db: Database) throws {
    var before: String?
    if case .dispatching(_, let entry) = stage { before = entry }
    // Where it goes, and what the session's last entry was, stay known until the message has ended.
    try db.execute(
      sql: """
        UPDATE message SET stage = ?, session = ifnull(?, session), entryBefore = ifnull(?, entryBefore), endedAt = ?,
          body = CASE WHEN ? THEN NULL ELSE body END
        WHERE \(Self.whichMessage) AND endedAt IS NULL
        """,
      arguments: [
        stage.code, stage.session, before, stage.isFinal ? time : nil, stage.isFinal, key.conversation.instance,
        key.conversation.conversation, key.id,
      ])
  }

  package func replace(_ key: MessageKey, text: String) async throws {
    try await commits.write { db in
      let which: StatementArguments = [key.conversation.instance, key.conversation.conversation, key.id]
      guard
        let body = try Data.fetchOne(
          db, sql: "SELECT body FROM message WHERE \(Self.whichMessage) AND endedAt IS NULL", arguments: which)
      else { return }
      var message = try JSONCoding.decode(MessageReceived.self, from: Array(body))
      message.text = text
      try db.execute(
        sql: "UPDATE message SET body = ? WHERE \(Self.whichMessage)",
        arguments: [Data(try JSONCoding.encode(message))] + which)
    }
  }

  package func unfinishedMessages(of instance: String) async throws -> [UnfinishedMessage] {
    try await read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM message WHERE instance = ? AND endedAt IS NULL ORDER BY number", arguments: [instance]
      ).map { row in
        let body: Data = row["body"]
        let conversation = ConversationKey(instance: row["instance"], conversation: row["conversation"])
        return UnfinishedMessage(
          stored: StoredMessage(
            key: MessageKey(conversation: conversation, id: row["id"]),
            message: try JSONCoding.decode(MessageReceived.self, from: Array(body))),
          stage: try MessageStage(code: row["stage"], session: row["session"], entryBefore: row["entryBefore"]),
          session: row["session"])
      }
    }
  }

  package func stage(of key: MessageKey) async throws -> MessageStage? {
    try await read { db in
      try Row.fetchOne(
        db, sql: "SELECT stage, session, entryBefore FROM message WHERE \(Self.whichMessage)",
        arguments: [key.conversation.instance, key.conversation.conversation, key.id]
      ).map { try MessageStage(code: $0["stage"], session: $0["session"], entryBefore: $0["entryBefore"]) }
    }
  }

  // MARK: - State of plugins

  package func pluginState(of instance: String) async throws -> JSONValue? {
    try await read { db in
      try Data.fetchOne(db, sql: "SELECT body FROM pluginState WHERE instance = ?", arguments: [instance])
        .map { try JSONCoding.decode(JSONValue.self, from: Array($0)) }
    }
  }

  package func savePluginState(_ state: JSONValue, of instance: String) async throws {
    let body = Data(try JSONCoding.encode(state))
    try await commits.write { db in try Self.save(state: body, of: instance, db) }
  }

  private static func save(state: Data, of instance: String, _ db: Database) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO pluginState (instance, body) VALUES (?, ?)", arguments: [instance, state])
  }

  func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    do {
      return try await database.read(body)
    } catch {
      throw StoreError(error, path: path)
    }
  }
}
