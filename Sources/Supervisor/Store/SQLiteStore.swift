internal import CLinux
internal import FoundationEssentials
internal import Glibc
package import Logging
internal import RelayConcurrency
package import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Everything that must survive, in one SQLite database: a write-ahead log, flushed to the disk at each commit; one writer,
/// one reader.
///
/// A message is acknowledged only after a call here has returned: data that a call has stored is on the disk. The
/// exceptions are named `schedule…`.
package final class SQLiteStore: Sendable {
  /// The version of the tables that this program knows.
  package static var schemaVersion: Int { Schema.version }

  package let path: String
  let commits: CommitQueue
  private let reader: SQLiteConnection
  let now: @Sendable () -> Double
  let logger: Logger?

  /// Opens the database, creating or updating it as needed.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - logger: gets the failures of deferred writes, for which no caller waits.
  ///   - damaged: called when a check of all pages, which runs beside the first reads and before the first write, finds
  ///     damage: nothing is written then. `nil`: no check.
  package init(
    path: String, now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 },
    logger: Logger? = nil, damaged: (@Sendable (StoreError) -> Void)? = nil
  ) throws(StoreError) {
    self.path = path
    self.now = now
    self.logger = logger
    let folder = path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    try NetworkFileSystem.refuse(folder.isEmpty ? "/" : folder)
    try DatabaseReplacement.finish(path)
    do {
      let writer = try Self.prepare(path)
      commits = CommitQueue(writer, path: path)
      reader = try Self.open(path)
    } catch {
      throw StoreError(error, path: path)
    }
    if let damaged { commits.check(damaged: damaged) }
  }

  /// Opens a database that nobody else has open, making or updating it as needed.
  static func prepare(_ path: String) throws -> SQLiteConnection {
    try makePrivate(path)
    try WriteAheadLog.check(path + "-wal")
    let connection = try open(path)
    try Schema.update(connection, path: path)
    return connection
  }

  /// The state that a plugin has kept, read beside a daemon that runs; `nil` where there is none.
  package static func keptState(of instance: String, in path: String) throws(StoreError) -> JSONValue? {
    guard access(path, R_OK) == 0 else { return nil }
    do {
      let connection = try SQLiteConnection(path: path)
      try connection.execute("PRAGMA busy_timeout = 1000")
      return try connection.rows("SELECT body FROM pluginState WHERE instance = ?", .text(instance)) {
        try JSONCoding.decode(JSONValue.self, from: $0.blob(0))
      }.first
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Ends after what has been given to it is on the disk.
  package func close() async { await commits.close() }

  /// Reads what has been committed; never waits for a write.
  func read<Value: Sendable>(_ body: @escaping @Sendable (SQLiteConnection) throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Self.readLoop.perform { [reader, path, commits] in
        let result = Result { try body(reader) }.mapError { StoreError($0, path: path) }
        // A database that cannot be read back is not relied on for what comes.
        if case .failure(let error) = result, error.isLasting { commits.stop(after: error) }
        continuation.resume(with: result.mapError { $0 })
      }
    }
  }

  /// A row that cannot be read affects no other row: it is reported, and left unchanged.
  func readable<Value>(_ what: String, _ read: () throws -> Value) -> Value? {
    do {
      return try read()
    } catch {
      logger?.error("\(path): \(what) cannot be read and is left unchanged: \(error)")
      return nil
    }
  }

  /// Waits for the disk: nothing else runs there.
  private static let readLoop = EventLoop(name: "relay-read")

  static func open(_ path: String) throws(SQLiteError) -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path)
    // Each commit waits for the disk. Rows are small and read once: a cache of 512 KiB is enough. Another process may
    // look at the database for a moment, as `doctor` does.
    try connection.execute(
      """
      PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -512;
      PRAGMA temp_store = MEMORY
      """)
    return connection
  }

  /// SQLite gives its other files the mode of this one.
  private static func makePrivate(_ path: String) throws(StoreError) {
    let descriptor = Glibc.open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError(SystemError("cannot be opened", path: path)) }
    defer { Glibc.close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0 else {
      throw StoreError(SystemError("cannot be made private", path: path))
    }
  }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
