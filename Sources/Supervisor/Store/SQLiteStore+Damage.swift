internal import RelayConcurrency
internal import RelayTransport

extension SQLiteStore {
  /// The error after which nothing more is stored.
  package var failure: StoreError? { commits.failure }

  /// Looks at all pages while the store is used, as a start does not wait for this; where they are damaged, nothing
  /// more is stored. Ends early when its task is cancelled.
  package func check() async throws(StoreError) {
    let isCancelled = Locked(false)
    do {
      let connection = try Self.open(path)
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          // Reads for seconds where much is kept.
          LoopThread.start(name: "relay-check") { [path] in
            continuation.resume(with: Result { try Self.check(connection, path, unless: isCancelled) })
          }
        }
      } onCancel: {
        isCancelled.withLock { $0 = true }
        connection.interrupt()
      }
    } catch {
      if isCancelled.withLock({ $0 }) { return }
      let error = StoreError(error, path: path)
      if error.isLasting { commits.stop(after: error) }
      throw error
    }
  }

  private static func check(_ connection: SQLiteConnection, _ path: String, unless isCancelled: Locked<Bool>) throws {
    // SQLite forgets an interrupt that comes while no statement runs.
    _ = try connection.rows("SELECT 1") { _ in
      if !isCancelled.withLock({ $0 }) { try check(connection, path) }
    }
  }

  /// Looks at all pages.
  static func check(_ connection: SQLiteConnection, _ path: String) throws {
    let trouble = try connection.rows("PRAGMA quick_check(1)") { $0.text(0) }.first
    if let trouble, trouble != "ok" { throw StoreError.damaged(path, trouble) }
  }

  /// Looks at every page, row and index; takes long where much is kept. For when no daemon runs.
  package static func examine(_ path: String) throws(StoreError) {
    do {
      let trouble = try prepare(path).rows("PRAGMA integrity_check(5)") { $0.text(0) }
      guard trouble == ["ok"] else {
        throw StoreError("\(path) is damaged (\(trouble.joined(separator: "; "))); run: pi-relayd doctor --repair")
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }
}
