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

  fileprivate func encoded() throws -> [UInt8] {
    switch self {
    case .message(let request): try JSONCoding.encode(request)
    case .file(let request): try JSONCoding.encode(request)
    case .dialog(let request): try JSONCoding.encode(request)
    case .edit(let request): try JSONCoding.encode(request)
    }
  }

  fileprivate init(code: Int, _ body: [UInt8]) throws {
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
    try await commits.write { connection in
      if let ending { try Self.advance(ending.key, to: ending.stage, at: time, connection) }
      try connection.run(
        "INSERT INTO outbound (key, instance, conversation, kind, body) VALUES (?, ?, ?, ?, ?)", .text(record.key),
        .text(record.conversation.instance), .text(record.conversation.conversation),
        .integer(record.request.code), .blob(body))
    }
  }

  package func settleOutboundSoon(_ key: String, _ result: OutboundResult) {
    let time = now()
    commits.write { connection in
      try connection.run(
        "UPDATE outbound SET result = ?2, detail = ?3, settledAt = ?4, body = NULL WHERE key = ?1", .text(key),
        .integer(result.code), .text(result.detail), .real(time))
    } then: { [report] outcome in
      if case .failure(let error) = outcome { report("what became of a message could not be stored: \(error)") }
    }
  }

  package func result(of key: String) async throws -> OutboundResult? {
    try await read { connection in
      try connection.rows(
        "SELECT result, detail FROM outbound WHERE key = ? AND settledAt IS NOT NULL", .text(key)
      ) { OutboundResult(code: $0.integer(0), detail: $0.optionalText(1)) }.first
    }
  }

  package func unsettledOutbound(of instance: String) async throws -> [OutboundRecord] {
    try await read { connection in
      try connection.rows(
        """
        SELECT key, conversation, kind, body FROM outbound WHERE instance = ? AND settledAt IS NULL ORDER BY number
        """, .text(instance)
      ) { row in
        OutboundRecord(
          key: row.text(0), conversation: ConversationKey(instance: instance, conversation: row.text(1)),
          request: try OutboundRecord.Request(code: row.integer(2), row.blob(3)))
      }
    }
  }

  // MARK: - Retention

  /// Removes what ended before `time`, in seconds since 1970.
  package func prune(endedBefore time: Double) async throws {
    try await commits.write { connection in
      try connection.run("DELETE FROM message WHERE endedAt < ?", .real(time))
      try connection.run("DELETE FROM outbound WHERE settledAt < ?", .real(time))
    }
  }
}
