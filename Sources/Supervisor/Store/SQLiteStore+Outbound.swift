internal import Logging
internal import RelayJSON
package import RelayModel
internal import RelayWire

extension OutboundRecord.Request {
  /// How its kind is written down. Never renumbered.
  fileprivate var code: Int {
    switch self {
    case .message: 0
    case .file: 1
    case .dialog: 2
    case .edit: 3
    case .close: 4
    }
  }

  fileprivate func encoded() throws -> [UInt8] {
    switch self {
    case .message(let request): try JSONCoding.encode(request)
    case .file(let request): try JSONCoding.encode(request)
    case .dialog(let request): try JSONCoding.encode(request)
    case .edit(let request): try JSONCoding.encode(request)
    case .close(let request): try JSONCoding.encode(request)
    }
  }

  fileprivate init(code: Int, _ body: [UInt8]) throws {
    switch code {
    case 0, Self.keyOnly: self = .message(try JSONCoding.decode(MessageSend.self, from: body))
    case 1: self = .file(try JSONCoding.decode(FileSend.self, from: body))
    case 2: self = .dialog(try JSONCoding.decode(DialogShow.self, from: body))
    case 3: self = .edit(try JSONCoding.decode(MessageEdit.self, from: body))
    case 4: self = .close(try JSONCoding.decode(DialogClose.self, from: body))
    default: throw StoreError("a stored send is of kind \(code), which this version does not know")
    }
  }

  /// The kind of an answer whose key was recorded before its words; not written any more.
  fileprivate static let keyOnly = 5
}

extension OutboundResult {
  /// Never renumbered.
  fileprivate var code: Int {
    switch self {
    case .sent: 0
    case .failed: 1
    case .abandoned: 2
    }
  }

  fileprivate var detail: String? {
    switch self {
    case .sent(let text), .failed(let text): text
    case .abandoned: nil
    }
  }

  fileprivate init(code: Int, detail: String?) {
    switch code {
    case 0: self = .sent(message: detail ?? "")
    case 1: self = .failed(detail ?? "")
    default: self = .abandoned
    }
  }
}

extension SQLiteStore {
  /// Records what is about to be sent and, in the same step, the end of the message that it reports, that what was sent
  /// under the key `closing` needs no further change, and that it takes the place of what is recorded as `superseding`
  /// (which is the key of a record itself where an earlier version recorded nothing but that key).
  package func recordOutbound(
    _ records: [OutboundRecord], ending: MessageEnd? = nil, closing: String? = nil, superseding: String? = nil
  ) async throws {
    let rows = try records.map { ($0, try $0.request.encoded()) }
    let time = now()
    try await commits.write { connection in
      if let ending { try Self.end(ending, at: time, connection) }
      if let closing { try Self.close(closing, connection) }
      if let superseding {
        try connection.run(
          "DELETE FROM outbound WHERE key = ? AND kind = ? AND settledAt IS NULL", .text(superseding),
          .integer(OutboundRecord.Request.keyOnly))
        try Self.settle(superseding, .abandoned, at: time, connection)
      }
      for (record, body) in rows {
        try connection.run(
          "INSERT INTO outbound (key, instance, conversation, kind, body, isOpen) VALUES (?, ?, ?, ?, ?, ?)",
          .text(record.key), .text(record.conversation.instance), .text(record.conversation.conversation),
          .integer(record.request.code), .blob(body), .integer(record.isOpen ? 1 : 0))
      }
    }
  }

  /// Records what became of it, with the next commit: a crash before that is one more lost receipt.
  package func scheduleSettleOutbound(_ key: String, _ result: OutboundResult) {
    let time = now()
    commits.write {
      try Self.settle(key, result, at: time, $0)
    } then: { [logger] outcome in
      if case .failure(let error) = outcome { logger?.error("the result of a send was not stored: \(error)") }
    }
  }

  private static func settle(
    _ key: String, _ result: OutboundResult, at time: Double, _ connection: SQLiteConnection
  ) throws {
    try connection.run(
      """
      UPDATE outbound SET result = ?2, detail = ?3, settledAt = ?4, isOpen = CASE WHEN ?2 = 0 THEN isOpen ELSE 0 END,
        body = CASE WHEN ?2 = 0 AND isOpen THEN body END
      WHERE key = ?1
      """, .text(key), .integer(result.code), .text(result.detail), .real(time))
  }

  /// Records a failed try, so that the next daemon counts it and keeps the wait.
  package func scheduleRetryOutbound(_ key: String, _ tries: SendTries) {
    let time = now()
    commits.write { connection in
      try connection.run(
        "UPDATE outbound SET attempts = ?2, triedAt = ?3, wait = ?4 WHERE key = ?1 AND settledAt IS NULL", .text(key),
        .integer(tries.failed), .real(time), .real(tries.wait.inSeconds))
    } then: { [logger] outcome in
      if case .failure(let error) = outcome { logger?.error("a failed try of a send was not stored: \(error)") }
    }
  }

  package func result(of key: String) async throws -> OutboundResult? {
    try await read { connection in
      try connection.rows(
        "SELECT result, detail FROM outbound WHERE key = ? AND settledAt IS NOT NULL", .text(key)
      ) { OutboundResult(code: $0.integer(0), detail: $0.optionalText(1)) }.first
    }
  }

  /// Records that the message sent under this key needs no further change.
  package func scheduleCloseOutbound(_ key: String) {
    commits.write {
      try Self.close(key, $0)
    } then: { [logger] outcome in
      if case .failure(let error) = outcome {
        logger?.error("the end of a growing message was not stored: \(error)")
      }
    }
  }

  private static func close(_ key: String, _ connection: SQLiteConnection) throws {
    try connection.run(
      "UPDATE outbound SET isOpen = 0, body = CASE WHEN settledAt IS NULL THEN body END WHERE key = ? AND isOpen",
      .text(key))
  }

  /// Outbound records of an instance that are not settled, or are open, in order.
  package func unfinishedOutbound(of instance: String) async throws -> [UnfinishedOutbound] {
    let now = now()
    return try await read { [self] connection in
      try connection.rows(
        """
        SELECT key, conversation, kind, body, detail, attempts, triedAt, wait FROM outbound
        WHERE instance = ? AND (settledAt IS NULL OR isOpen) ORDER BY number
        """, .text(instance)
      ) { row in
        let conversation = ConversationKey(instance: instance, conversation: row.text(1))
        return readable("a send to \(conversation)") {
          let wait = row.real(7)
          // The wall clock may have been set back since.
          let left = min(max(0, row.real(6) + wait - now), wait)
          return UnfinishedOutbound(
            record: OutboundRecord(
              key: row.text(0), conversation: conversation,
              request: try OutboundRecord.Request(code: row.integer(2), row.blob(3))),
            message: row.optionalText(4), tries: SendTries(failed: row.integer(5), wait: .seconds(left)))
        }
      }
    }
  }

  /// For each instance, as far back as is kept.
  package func deliveryCounts() async throws -> [DeliveryCount] {
    try await read { connection in
      // Two selections, as each has an index. The detail beside a maximum is of the row that has it.
      try connection.rows(
        """
        SELECT instance, count(*) - count(failedAt), count(failedAt), detail, max(failedAt) FROM (
          SELECT instance, NULL AS detail, NULL AS failedAt FROM outbound WHERE settledAt IS NULL
          UNION ALL SELECT instance, detail, settledAt FROM outbound WHERE result = 1)
        GROUP BY instance ORDER BY instance
        """
      ) { row in
        let failed = row.integer(2)
        return DeliveryCount(
          instance: row.text(0), waiting: row.integer(1), failed: failed,
          lastFailure: failed > 0 ? row.optionalText(3) : nil)
      }
    }
  }
}
