extension SQLiteStore {
  /// Rows looked at in one commit, so that messages which arrive meanwhile do not wait.
  private static let pruned = 1_000

  /// Removes what ended before `time`, in seconds since 1970.
  ///
  /// Looks at the oldest ended rows until one lot has nothing to remove. Work that took long keeps what came after it
  /// until it is removed itself; in return neither an index nor a look at every row is needed.
  package func prune(endedBefore time: Double) async throws {
    try await prune("message", "endedAt", where: "endedAt IS NOT NULL", before: time)
    try await prune("outbound", "settledAt", where: "settledAt IS NOT NULL AND NOT isOpen", before: time)
  }

  private func prune(_ table: String, _ ended: String, where isOver: String, before time: Double) async throws {
    let sql = """
      DELETE FROM \(table) WHERE number IN (
        SELECT number FROM (SELECT number, \(ended) FROM \(table) WHERE \(isOver) ORDER BY number LIMIT \(Self.pruned))
        WHERE \(ended) < ?)
      """
    while try await commits.write({ try $0.run(sql, .real(time)) }) > 0, !Task.isCancelled {}
  }
}
