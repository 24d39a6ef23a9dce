internal import Logging
package import RelayJSON
package import RelayModel
internal import RelayWire

extension SQLiteStore {
  package func pluginState(of instance: String) async throws -> JSONValue? {
    try await read { connection in
      try connection.rows("SELECT body FROM pluginState WHERE instance = ?", .text(instance)) {
        try JSONCoding.decode(JSONValue.self, from: $0.blob(0))
      }.first
    }
  }

  package func savePluginState(_ state: JSONValue, of instance: String) async throws {
    let body = JSONCoding.encode(state)
    try await commits.write { try Self.save(state: body, of: instance, $0) }
  }

  package func backoff(of instance: String) async throws -> Backoff? {
    let now = now()
    return try await read { connection in
      try connection.rows("SELECT failures, due FROM backoff WHERE instance = ?", .text(instance)) { row in
        Backoff(failures: row.integer(0), wait: .seconds(max(0, row.real(1) - now)))
      }.first
    }
  }

  /// With the next commit; nil forgets it.
  package func scheduleSaveBackoff(_ backoff: Backoff?, of instance: String) {
    let due = now() + (backoff?.wait.inSeconds ?? 0)
    commits.write { connection in
      if let backoff {
        try connection.run(
          "INSERT OR REPLACE INTO backoff (instance, failures, due) VALUES (?, ?, ?)", .text(instance),
          .integer(backoff.failures), .real(due))
      } else {
        try connection.run("DELETE FROM backoff WHERE instance = ?", .text(instance))
      }
    } then: { [logger] outcome in
      guard case .failure(let error) = outcome else { return }
      logger?.error(
        "the wait before its next start was not stored: \(error)", metadata: ["instance": .string(instance)])
    }
  }

  /// Plugins switched off by hand.
  package func switchedOff() async throws -> Set<String> {
    try await read { Set(try $0.rows("SELECT instance FROM switchedOff") { $0.text(0) }) }
  }

  package func switchOff(_ instance: String, _ isOff: Bool) async throws {
    let sql = isOff ? "INSERT OR IGNORE INTO switchedOff VALUES (?)" : "DELETE FROM switchedOff WHERE instance = ?"
    try await commits.write { try $0.run(sql, .text(instance)) }
  }

  static func save(state: [UInt8], of instance: String, _ connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO pluginState (instance, body) VALUES (?, ?)", .text(instance), .blob(state))
  }
}
