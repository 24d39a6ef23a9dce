extension SQLiteStore {
  /// The error after which nothing more is stored.
  package var failure: StoreError? { commits.failure }

  /// Looks at all pages; takes long where much is kept.
  static func check(_ connection: SQLiteConnection, _ path: String) throws {
    let trouble = try findings(of: "quick_check(1)", connection)
    guard trouble == "ok" else {
      throw StoreError("\(path) is damaged (\(trouble)); run: pi-relayd doctor --repair", isLasting: true)
    }
  }

  /// Looks at every page, row and index; takes longer still. For when no daemon runs.
  package static func examine(_ path: String) throws(StoreError) {
    do {
      let trouble = try findings(of: "integrity_check(5)", prepare(path))
      guard trouble == "ok" else {
        throw StoreError("\(path) is damaged (\(trouble)); run: pi-relayd doctor --repair")
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// - Returns: the findings in one line; "ok" where there are none.
  private static func findings(of check: String, _ connection: SQLiteConnection) throws -> String {
    try connection.rows("PRAGMA \(check)") { $0.text(0).replacing("\n", with: " ") }.joined(separator: "; ")
  }
}
