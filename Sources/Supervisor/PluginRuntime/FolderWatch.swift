internal import Glibc
package import RelayConcurrency
internal import RelayTransport

/// Says when something in a folder has been written, moved, removed or made executable.
package final class FolderWatch: Sendable {
  private let descriptor: Int32
  private let token: EventLoop.Token
  private let folder: String
  private let identity: [UInt]
  /// The folder itself is gone: inode numbers are used again, so its identity would not tell.
  private let isOver = Locked(false)

  /// - Parameter changed: called on the loop's thread; several changes at once may be one call.
  package init(
    folder: String, alsoWrites: Bool = false, alsoCreations: Bool = false, changed: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    self.folder = folder
    identity = Self.identity(of: folder)
    let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    guard descriptor >= 0 else { throw SystemError("inotify_init") }
    let events = UInt32(
      IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
        | (alsoWrites ? IN_MODIFY : 0) | (alsoCreations ? IN_CREATE : 0))
    guard inotify_add_watch(descriptor, folder, events) >= 0 else {
      let error = SystemError("cannot be watched", path: folder)
      _ = close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    do {
      token = try EventLoop.shared.watch(descriptor, .read) { [isOver] buffer in
        while true {
          let count = read(descriptor, buffer.baseAddress, buffer.count)
          guard count > 0 else { break }
          if Self.tellsOfTheEnd(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { isOver.withLock { $0 = true } }
        }
        changed()
      }
    } catch {
      _ = close(descriptor)
      throw error
    }
  }

  /// False once another folder has that name, or none.
  package var isCurrent: Bool {
    !isOver.withLock { $0 } && !identity.isEmpty && Self.identity(of: folder) == identity
  }

  /// Looks for an event (inotify(7)) that says that the folder is gone.
  private static func tellsOfTheEnd(_ events: UnsafeRawBufferPointer) -> Bool {
    let head = MemoryLayout<inotify_event>.size
    var position = 0
    while position + head <= events.count {
      let event = events.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
      if event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED) != 0 { return true }
      position += head + Int(event.len)
    }
    return false
  }

  private static func identity(of folder: String) -> [UInt] {
    var status = stat()
    return stat(folder, &status) == 0 ? [UInt(status.st_dev), UInt(status.st_ino)] : []
  }

  deinit {
    EventLoop.shared.close(token, descriptor)
  }
}
