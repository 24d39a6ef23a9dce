import FoundationEssentials
import Glibc
import RelayPipes
import Supervisor
import TestSupport
import Testing

@Suite struct DaemonLockTests {
  let scratch: TemporaryFolder
  let folders: Folders

  init() throws {
    scratch = try TemporaryFolder()
    folders = Folders(home: scratch.path + "/home")
    try folders.prepare()
  }

  /// Another process that holds the lock for half a second.
  private func holdElsewhere(as pid: Int32) async throws {
    try Data("\(pid)\n".utf8).write(to: URL(filePath: folders.lock))
    let child = try ChildProcess.spawn(
      .init(
        name: "holder", path: "/usr/bin/flock",
        arguments: [folders.lock, "sh", "-c", "echo held; sleep 0.5"], environment: ["PATH": "/usr/bin:/bin"]),
      guardian: nil)
    let held = Mailbox<Void>(merge: { _, _ in true })
    let reader = LineReader(
      descriptor: child.1.output, maximumLineLength: 100, handlers: .init(line: { _ in held.post(()) }, end: {}))
    try reader.start()
    for descriptor in [child.1.input, child.1.error] { close(descriptor) }
    _ = await held.next()
  }

  @Test func `what a killed daemon leaves of its lock is waited for`() async throws {
    // No process has such a number.
    try await holdElsewhere(as: 1 << 30)
    #expect(!DaemonLock.isHeld(folders))
    let lock = try DaemonLock(folders)
    #expect(DaemonLock.isHeld(folders))
    #expect(DaemonLock.holder(folders) == getpid())
    lock.release()
  }

  @Test func `a living daemon's lock is respected at once`() async throws {
    try await holdElsewhere(as: getppid())
    #expect(DaemonLock.isHeld(folders))
    #expect(throws: Folders.Failure.self) { try DaemonLock(folders) }
  }
}
