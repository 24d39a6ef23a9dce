internal import FoundationEssentials
internal import GRDB
internal import RelayWire

extension OutboundRecord.Request {
  /// How its kind is written down. Never renumbered.
  fileprivate var code: Int {
    switch self {
    case .message: 0
    case .file: 1
    case .dialog: 2
    case .edit: 3
    }
  }

  fileprivate func encoded() throws -> Data {
    switch self {
    case .message(let request): Data(try JSONCoding.encode(request))
    case .file(let request): Data(try JSONCoding.encode(request))
    case .dialog(let request): Data(try JSONCoding.encode(request))
    case .edit(let request): Data(try JSONCoding.encode(request))
    }
  }

  fileprivate init(code: Int, _ body: Data) throws {
    let body = Array(body)
    switch code {
    case 0: self = .message(try JSONCoding.decode(MessageSend.self, from: body))
    case 1: self = .file(try JSONCoding.decode(FileSend.self, from: body))
    case 2: self = .dialog(try JSONCoding.decode(DialogShow.self, from: body))
    case 3: self = .edit(try JSONCoding.decode(MessageEdit.self, from: body))
    default: throw StoreError("something to be sent is of kind \(code), which this version does not know")
    }
  }
}

extension OutboundResult {
  /// Never renumbered.
  fileprivate var code: Int {
    switch self {
    case .sent: 0
    case .failed: 1
    case .unknown: 2
    }
  }

  fileprivate var detail: String? {
    switch self {
    case .sent(let text), .failed(let text): text
    case .unknown: nil
    }
  }

  fileprivate init(code: Int, detail: String?) {
    switch code {
    case 0: self = .sent(message: detail ?? "")
    case 1: self = .failed(detail ?? "")
    default: self = .unknown
    }
  }
}

extension SQLiteStore {
  package func recordOutbound(_ record: OutboundRecord, ending: MessageEnd?) async throws {
    let body = try record.request.encoded()
    let time = now()
    try await commits.write { db in
      if let ending { try Self.advance(ending.key, to: ending.stage, at: time, db) }
      try db.execute(
        sql: "INSERT INTO outbound (key, instance, conversation, kind, body) VALUES (?, ?, ?, ?, ?)",
        arguments: [
          record.key, record.conversation.instance, record.conversation.conversation, record.request.code, body,
        ])
    }
  }

  package func settleOutboundSoon(_ key: String, _ result: OutboundResult) {
    let time = now()
    commits.writeSoon(
      { db in
        try db.execute(
          sql: "UPDATE outbound SET result = ?, detail = ?, settledAt = ?, body = NULL WHERE key = ?",
          arguments: [result.code, result.detail, time, key])
      }, failed: { [report] in report("what became of a message could not be stored: \($0)") })
  }

  package func result(of key: String) async throws -> OutboundResult? {
    try await read { db in
      try Row.fetchOne(
        db, sql: "SELECT result, detail FROM outbound WHERE key = ? AND settledAt IS NOT NULL", arguments: [key]
      ).map { OutboundResult(code: $0["result"], detail: $0["detail"]) }
    }
  }

  package func unsettledOutbound(of instance: String) async throws -> [OutboundRecord] {
    try await read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM outbound WHERE instance = ? AND settledAt IS NULL ORDER BY number",
        arguments: [instance]
      ).map { row in
        OutboundRecord(
          key: row["key"],
          conversation: ConversationKey(instance: row["instance"], conversation: row["conversation"]),
          request: try OutboundRecord.Request(code: row["kind"], row["body"]))
      }
    }
  }

  // MARK: - Retention

  /// Removes what ended before `time`, in seconds since 1970.
  package func prune(endedBefore time: Double) async throws {
    try await commits.write { db in
      try db.execute(sql: "DELETE FROM message WHERE endedAt < ?", arguments: [time])
      try db.execute(sql: "DELETE FROM outbound WHERE settledAt < ?", arguments: [time])
    }
  }
}
