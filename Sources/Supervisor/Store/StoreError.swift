internal import CSQLite
internal import RelayConcurrency

/// Why something could not be stored or read, in words that say what to do.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
  /// Nothing can be stored until the daemon is started again.
  package let isLasting: Bool

  package init(_ description: String, isLasting: Bool = false) {
    self.description = description
    self.isLasting = isLasting
  }

  init(_ failure: SystemError) { self.init(failure.description) }

  static let closed = StoreError("pi-relayd is stopping; nothing more is stored")

  init(_ error: any Error, path: String) {
    if let error = error as? StoreError {
      self = error
      return
    }
    guard let error = error as? SQLiteError else {
      self.init("\(path): \(error)")
      return
    }
    let detail = error.message
    switch error.kind {
    case SQLITE_FULL:
      self.init("\(path): the disk is full; free space, and messages are accepted again")
    case SQLITE_IOERR:
      self.init(
        "\(path): the disk failed (\(error.code): \(detail)); nothing more is stored. Look at the "
          + "disk, then run: pi-relayd restart --full", isLasting: true)
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      self.init(
        "\(path) is damaged (\(detail)); nothing more is stored. Run: pi-relayd stop, then pi-relayd doctor --repair",
        isLasting: true)
    case SQLITE_READONLY, SQLITE_PERM:
      self.init("\(path) cannot be written: the file or its file system is read-only (\(detail))")
    case SQLITE_CANTOPEN:
      self.init("\(path) cannot be opened: \(detail); check that its folder exists and is writable")
    case SQLITE_BUSY, SQLITE_LOCKED:
      self.init("\(path) is in use by another program (\(detail)); end it, or wait for it")
    default: self.init("\(path): \(detail) (SQLite \(error.code))")
    }
  }
}
