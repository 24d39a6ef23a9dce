internal import FoundationEssentials
internal import Glibc

/// Puts a new database in the place of another, which is kept. A kill or a loss of power at any moment leaves one of the
/// two, whole: the new one lies ready, complete and flushed, before the old one is touched, and whoever opens the
/// database next finishes what was begun.
struct DatabaseReplacement {
  static let suffixes = ["", "-wal", "-shm"]

  private let database: String
  /// Where the new one is made.
  let building: String
  /// Behind this stands what the old one is to be called.
  private var ready: String { Self.ready(database) }

  /// - Parameter database: the path of the one to be replaced.
  init(of database: String) {
    self.database = database
    building = database + ".building"
    discard()
  }

  /// Nothing is replaced.
  func discard() { for suffix in Self.suffixes { unlink(building + suffix) } }

  /// Exchanges the two. For when nobody has either of them open.
  ///
  /// - Parameter name: of the old one, behind its path and a dot.
  /// - Returns: where the old one is; nil when there was none.
  func commit(keepingOldAs name: String) throws(StoreError) -> String? {
    let had = access(database, F_OK) == 0
    do {
      let connection = try SQLiteConnection(path: building)
      // One file is put in its place in one step.
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
    } catch {
      throw StoreError(error, path: building)
    }
    guard access(building + "-wal", F_OK) != 0 else { throw StoreError("\(building) is in use by another program") }
    try Self.flush(building)
    try Self.move(building, to: "\(ready)\(name)")
    try Self.flush(Self.folder(database))
    try Self.finish(database)
    return had ? "\(database).\(name)" : nil
  }

  /// Finishes what a process that ended in its middle had begun.
  static func finish(_ database: String) throws(StoreError) {
    let folder = folder(database)
    let prefix = ready(database).split(separator: "/").last.map(String.init) ?? ""
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    guard let found = names.first(where: { $0.hasPrefix(prefix) }) else { return }
    let name = found.dropFirst(prefix.count)
    // The log goes first: SQLite would write an old log into a new database.
    unlink(database + "-shm")
    for suffix in ["-wal", ""] where access(database + suffix, F_OK) == 0 {
      try move(database + suffix, to: "\(database).\(name)\(suffix)")
    }
    try flush(folder)
    try move("\(folder)/\(found)", to: database)
    try flush(folder)
  }

  private static func ready(_ database: String) -> String { database + ".ready." }

  private static func folder(_ path: String) -> String {
    let folder = path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    return folder.isEmpty ? "/" : folder
  }

  private static func move(_ path: String, to target: String) throws(StoreError) {
    guard rename(path, target) == 0 else {
      throw StoreError("\(path) cannot be moved to \(target): \(String(cString: strerror(errno)))")
    }
  }

  private static func flush(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    guard descriptor >= 0, fsync(descriptor) == 0 else {
      throw StoreError("\(path) could not be written: \(String(cString: strerror(errno)))")
    }
  }
}
