internal import Glibc
internal import RelayWire

/// The room on the disk that a folder is on.
package struct DiskSpace: Sendable, Equatable {
  /// Bytes that this user may still write.
  package var free: Int
  package var size: Int

  package init(free: Int, size: Int) {
    self.free = free
    self.size = size
  }

  /// Reads the space of a folder's disk; `nil` where the system does not say.
  package init?(of folder: String) {
    var facts = statvfs()
    guard statvfs(folder, &facts) == 0 else { return nil }
    free = Int(clamping: facts.f_bavail) * Int(clamping: facts.f_frsize)
    size = Int(clamping: facts.f_blocks) * Int(clamping: facts.f_frsize)
  }

  /// Less than a twentieth is free, and less than 1 GiB: a twentieth of a large disk is room enough.
  package var isNearlyFull: Bool { free < min(size / 20, 1 << 30) }

  /// The warning for a person; nil while there is room.
  package func problem(of folder: String) -> String? {
    guard isNearlyFull else { return nil }
    return
      "the disk of \(folder) is nearly full: \(ByteCount(free)) of \(ByteCount(size)) are free; make room, or messages "
      + "will be refused"
  }
}
