internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayWire

/// The lock of a home, which its one daemon holds as long as it runs.
package final class DaemonLock: Sendable {
  private let descriptor: Int32

  /// Continues to hold the lock of this process's predecessor.
  package init(adopting descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// For `init(adopting:)`.
  package var handover: Int32 { descriptor }

  /// - Parameter pause: the time between two looks at the rest of a dead daemon.
  package init(_ home: HomeDirectory, pause: () -> Void = { usleep(10_000) }) throws(HomeDirectory.Failure) {
    let path = home.lock
    // Kept only once it is ours: a class that throws after it is complete runs its deinit, which closes.
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw HomeDirectory.Failure(SystemError("cannot be opened", path: path))
    }
    guard Self.take(file, home, pause) else {
      _ = close(file)
      throw Self.heldFailure(of: home)
    }
    descriptor = file
    ftruncate(file, 0)
    let text = Array("\(getpid())\n".utf8)
    _ = write(file, text, text.count)
  }

  deinit {
    _ = close(descriptor)
  }

  /// The failure of a second daemon for the same home.
  package static func heldFailure(of home: HomeDirectory) -> HomeDirectory.Failure {
    let pid = holder(home).map { " (pid \($0))" } ?? ""
    return HomeDirectory.Failure(
      description: "a pi-relayd runs already for \(home.path)\(pid); pi-relayd status shows it, pi-relayd stop ends it")
  }

  /// The number of looks at the rest of a dead daemon.
  private static let looks = 300

  /// A daemon that was killed while it started a child leaves the lock to it until it runs its own program.
  private static func take(_ descriptor: Int32, _ home: HomeDirectory, _ pause: () -> Void) -> Bool {
    for _ in 0..<looks {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      guard !isHolderAlive(home) else { return false }
      pause()
    }
    return false
  }

  /// Reports whether the daemon that wrote its pid into the lock's file may be alive. If it is not, the rest of the
  /// lock goes by itself.
  package static func isHolderAlive(_ home: HomeDirectory) -> Bool {
    guard let pid = holder(home), pid > 0 else { return true }
    return kill(pid, 0) == 0 || errno != ESRCH
  }

  /// Lets the next have it.
  package func release() { flock(descriptor, LOCK_UN) }

  /// The pid written by whoever holds, or last held, the lock.
  package static func holder(_ home: HomeDirectory) -> Int32? {
    guard let data = FileManager.default.contents(atPath: home.lock) else { return nil }
    return Int32(String(decoding: data, as: UTF8.self).trimmingWhitespace())
  }

  /// Reports whether the lock is held now: by a daemon, or for a moment by a child that a killed daemon was starting.
  package static func isHeld(_ home: HomeDirectory) -> Bool {
    let descriptor = open(home.lock, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { _ = close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }
}
