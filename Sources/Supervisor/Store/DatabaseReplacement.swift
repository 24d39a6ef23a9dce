internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// Puts a new database in the place of another, which is kept. A kill or a loss of power at any moment leaves one of the
/// two, whole: the new one lies ready, complete and flushed, before the old one is touched, and whoever opens the
/// database next finishes what was begun.
struct DatabaseReplacement {
  static let suffixes = ["", "-wal", "-journal", "-shm"]
  private static let unfinished = ".building-"

  private let database: String
  /// Where the new one is made.
  let building: String
  /// The prefix of the finished file's name; the rest is the name for the old database.
  private var ready: String { Self.ready(database) }

  /// - Parameter database: the path of the one to be replaced.
  init(of database: String) {
    self.database = database
    // Another command may be building one, too: the first to hold the daemon's lock replaces first.
    building = "\(database)\(Self.unfinished)\(getpid())"
    discard()
  }

  /// Nothing is replaced.
  func discard() { for suffix in Self.suffixes { unlink(building + suffix) } }

  /// Exchanges the two. For who holds the daemon's lock.
  ///
  /// - Parameter name: of the old one, behind its path and a dot.
  /// - Returns: where the old one is; nil when there was none.
  func commit(keepingOldAs name: String) throws(StoreError) -> String? {
    try Self.finish(database)
    let had = access(database, F_OK) == 0
    do {
      let connection = try SQLiteConnection(path: building, creates: false)
      // A database of one file can be moved in one step.
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
    } catch {
      throw StoreError(error, path: building)
    }
    for suffix in Self.suffixes.dropFirst() where access(building + suffix, F_OK) == 0 {
      throw StoreError("\(building) is in use by another program")
    }
    try Self.flush(building)
    try Self.move(building, to: "\(ready)\(name)")
    try Self.flush(Self.folder(database))
    try Self.finish(database)
    return had ? "\(database).\(name)" : nil
  }

  /// Finishes what a process that ended in its middle had begun, and removes what one had only begun to make. For who
  /// holds the daemon's lock.
  static func finish(_ database: String) throws(StoreError) {
    let folder = folder(database)
    let prefix = ready(database).split(separator: "/").last.map(String.init) ?? ""
    guard access(folder, F_OK) == 0 else { return }
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      // The folder may hold a replacement that was begun.
      throw StoreError("\(folder) cannot be read: \(error)")
    }
    sweep(names, in: folder, database)
    guard let found = names.first(where: { $0.hasPrefix(prefix) }) else { return }
    let name = found.dropFirst(prefix.count)
    // The logs go first: SQLite would write an old log into a new database.
    unlink(database + "-shm")
    for suffix in ["-journal", "-wal", ""] where access(database + suffix, F_OK) == 0 {
      try move(database + suffix, to: "\(database).\(name)\(suffix)")
    }
    try flush(folder)
    try move("\(folder)/\(found)", to: database)
    try flush(folder)
  }

  /// Removes files that commands left unfinished and whose processes have ended since.
  private static func sweep(_ names: [String], in folder: String, _ database: String) {
    let prefix = (database + unfinished).split(separator: "/").last.map(String.init) ?? ""
    for name in names where name.hasPrefix(prefix) {
      let owner = name.dropFirst(prefix.count).prefix { $0.isNumber }
      if let pid = Int32(owner), kill(pid, 0) != 0, errno == ESRCH { unlink("\(folder)/\(name)") }
    }
  }

  /// Copies the content of the file, also through a link, readable for this user alone.
  static func copy(_ path: String, to target: String) throws(StoreError) {
    let source = open(path, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { throw StoreError(SystemError("cannot be read", path: path)) }
    defer { close(source) }
    let copy = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard copy >= 0 else { throw StoreError(SystemError("cannot be made", path: target)) }
    defer { close(copy) }
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(source, &chunk, chunk.count)
      guard count >= 0 else { throw StoreError(SystemError("cannot be read", path: path)) }
      guard count > 0 else { return }
      var written = 0
      while written < count {
        let more = chunk.withUnsafeBytes { write(copy, $0.baseAddress! + written, count - written) }
        guard more > 0 else { throw StoreError(SystemError("cannot be written", path: target)) }
        written += more
      }
    }
  }

  private static func ready(_ database: String) -> String { database + ".ready." }

  private static func folder(_ path: String) -> String {
    let folder = path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    return folder.isEmpty ? "/" : folder
  }

  private static func move(_ path: String, to target: String) throws(StoreError) {
    guard rename(path, target) == 0 else {
      throw StoreError(SystemError("\(path) cannot be moved to \(target)"))
    }
  }

  private static func flush(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    guard descriptor >= 0, fsync(descriptor) == 0 else {
      throw StoreError(SystemError("could not be written", path: path))
    }
  }
}
