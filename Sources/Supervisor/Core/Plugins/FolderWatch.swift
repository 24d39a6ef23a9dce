internal import CLinux
internal import Glibc
package import RelayPipes

/// Says when something in a folder has been written, moved, removed or made executable.
package final class FolderWatch: Sendable {
  private let descriptor: Int32
  private let token: EventLoop.Token

  /// - Parameter changed: called on the loop's thread; several changes at once may be one call.
  package init(folder: String, alsoWrites: Bool = false, changed: @escaping @Sendable () -> Void) throws(SystemError) {
    let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    guard descriptor >= 0 else { throw SystemError("inotify_init") }
    let events = UInt32(
      IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | (alsoWrites ? IN_MODIFY : 0))
    guard inotify_add_watch(descriptor, folder, events) >= 0 else {
      let error = SystemError("inotify_add_watch \(folder)")
      _ = close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    do {
      token = try EventLoop.shared.watch(descriptor, .read) { buffer in
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        changed()
      }
    } catch {
      _ = close(descriptor)
      throw error
    }
  }

  deinit {
    EventLoop.shared.close(token, descriptor)
  }
}
