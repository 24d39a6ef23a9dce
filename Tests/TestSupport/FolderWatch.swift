import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// Waits until something holds of the files in a folder; checked whenever one of them is made, moved, changed or removed.
package func waitForFiles(in folder: String, until condition: () throws -> Bool) async throws {
  let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
  guard descriptor >= 0 else { throw SystemError("inotify_init1") }
  let changes = Mailbox<Void>(merge: { _, _ in true })
  let token: EventLoop.Token
  do {
    let events = IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_TO
    guard inotify_add_watch(descriptor, folder, UInt32(events)) >= 0 else {
      throw SystemError("cannot be watched", path: folder)
    }
    token = try EventLoop.shared.watch(descriptor, .read) { _ in
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while read(descriptor, &buffer, buffer.count) > 0 {}
      changes.post(())
    }
  } catch {
    close(descriptor)
    throw error
  }
  defer { EventLoop.shared.close(token, descriptor) }
  while try !condition() {
    // Nil at the test's time limit.
    guard await changes.next() != nil else { throw CancellationError() }
  }
}
