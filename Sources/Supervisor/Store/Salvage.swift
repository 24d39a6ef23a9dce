internal import CSQLite
internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// Saves what can be read of a damaged database.
package enum Salvage {
  package struct Report: Sendable, Equatable {
    /// Where the damaged files are now.
    package var aside: String
    /// Rows saved of each table.
    package var rows: [(table: String, count: Int)]

    package static func == (left: Report, right: Report) -> Bool {
      left.aside == right.aside && left.rows.elementsEqual(right.rows) { $0 == $1 }
    }
  }

  private static let tables = [
    "message", "outbound", "session", "binding", "pluginState", "backoff", "switchedOff", "notice", "approvalEvent",
    "approvalGrant", "pairing", "trustedPerson",
  ]

  /// Makes a new database of what can be read of a damaged one, which is put aside. For when no daemon runs.
  ///
  /// - Parameter stamp: tells apart what was put aside at different times.
  package static func repair(_ path: String, stamp: String) throws(StoreError) -> Report {
    try DatabaseReplacement.finish(path)
    guard access(path, F_OK) == 0 else { throw StoreError("there is no database at \(path): nothing to repair") }
    let replacement = DatabaseReplacement(of: path)
    // Reading changes a database too; the damaged one stays as it is.
    let copy = "\(path).salvage"
    remove(copy)
    defer { remove(copy) }
    do {
      for suffix in DatabaseReplacement.suffixes where suffix != "-shm" && access(path + suffix, F_OK) == 0 {
        try DatabaseReplacement.copy(path + suffix, to: copy + suffix)
      }
      let rows = try fill(try SQLiteStore.prepare(replacement.building), from: copy)
      let aside = try replacement.commit(keepingOldAs: "damaged-\(stamp)")
      return Report(aside: aside ?? path, rows: rows)
    } catch {
      replacement.discard()
      throw StoreError(error, path: path)
    }
  }

  private static func fill(_ new: SQLiteConnection, from copy: String) throws -> [(table: String, count: Int)] {
    try tables.map { ($0, try save($0, from: copy, to: new)) }
  }

  /// The time, for names of files: `20261122-155901`.
  package static func stamp() -> String {
    var now = time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y%m%d-%H%M%S", &parts)
    return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func remove(_ path: String) { for suffix in DatabaseReplacement.suffixes { unlink(path + suffix) } }

  /// Reads from both ends, so that damage in the middle hides neither.
  ///
  /// - Throws: errors of the new database. An error of the old one only marks the beginning of the damage.
  private static func save(_ table: String, from copy: String, to new: SQLiteConnection) throws -> Int {
    var count = 0
    // An older schema has fewer.
    let columns = readable("SELECT group_concat(name, ', ') FROM pragma_table_info('\(table)')", of: copy)
    guard case .text(let names)? = columns.first?.first else { return 0 }
    for order in ["ASC", "DESC"] {
      try new.transaction {
        for row in readable("SELECT \(names) FROM \(table) ORDER BY 1 \(order)", of: copy) {
          let places = Array(repeating: "?", count: row.count).joined(separator: ", ")
          count += try new.run("INSERT OR IGNORE INTO \(table) (\(names)) VALUES (\(places))", row)
        }
      }
    }
    return count
  }

  /// The rows before the first that cannot be read.
  private static func readable(_ sql: String, of copy: String) -> [[SQLiteConnection.Value]] {
    var rows: [[SQLiteConnection.Value]] = []
    do {
      try SQLiteConnection(path: copy).each(sql) { rows.append($0) }
    } catch {
      // The damage begins here, or the whole file is no database; the damaged file is kept for a closer look.
    }
    return rows
  }
}

extension SQLiteStore {
  /// Writes a copy of a database, in use or not, into a new file.
  ///
  /// - Parameter isInUse: a daemon has it open, and has looked at its log.
  package static func backUp(_ path: String, to target: String, isInUse: Bool) throws(StoreError) {
    if !isInUse { try DatabaseReplacement.finish(path) }
    guard access(path, R_OK) == 0 else { throw StoreError("there is no database at \(path) yet") }
    if !isInUse {
      // SQLite would leave out what lies behind the damage, and with nobody else at it remove the log.
      try WriteAheadLog.check(path + "-wal")
    }
    let descriptor = Glibc.open(target, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw StoreError(SystemError("cannot be made", path: target))
    }
    Glibc.close(descriptor)
    do {
      let connection = try SQLiteConnection(path: path)
      try connection.execute("PRAGMA busy_timeout = 5000")
      try connection.run("VACUUM INTO ?", .text(target))
      let copy = Glibc.open(target, O_RDONLY | O_CLOEXEC)
      defer { Glibc.close(copy) }
      guard copy >= 0, fsync(copy) == 0 else {
        throw StoreError(SystemError("could not be written", path: target))
      }
    } catch {
      unlink(target)
      throw StoreError(error, path: path)
    }
  }
}

/// A backup that has been looked at and lies ready beside the database.
package struct StoredBackup: Sendable {
  private let replacement: DatabaseReplacement

  /// Copies the backup, and checks the copy.
  package init(_ file: String, for database: String) throws(StoreError) {
    replacement = DatabaseReplacement(of: database)
    do {
      try DatabaseReplacement.copy(file, to: replacement.building)
      guard try Self.isOfRelay(replacement.building) else {
        throw StoreError("\(file) is no backup of pi-relayd; name a file that pi-relayd backup wrote")
      }
      try SQLiteStore.check(try SQLiteStore.prepare(replacement.building), replacement.building)
    } catch {
      replacement.discard()
      throw StoreError(error, path: file)
    }
  }

  private static func isOfRelay(_ path: String) throws -> Bool {
    do {
      return try SQLiteConnection(path: path, creates: false).rows("PRAGMA user_version") { $0.integer(0) } != [0]
    } catch let error as SQLiteError where error.kind == SQLITE_NOTADB {
      return false
    }
  }

  /// Replaces the database by the backup. Only when no daemon runs.
  ///
  /// - Returns: the path of the earlier database.
  package func putInPlace(stamp: String) throws(StoreError) -> String? {
    try replacement.commit(keepingOldAs: "before-restore-\(stamp)")
  }
}
