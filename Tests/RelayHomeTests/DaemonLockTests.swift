import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayTransport
import TestSupport
import Testing

@Suite struct DaemonLockTests {
  let scratch: TemporaryFolder
  let home: HomeDirectory

  init() throws {
    scratch = try TemporaryFolder()
    home = HomeDirectory(path: scratch.path + "/home")
    try home.prepare()
  }

  /// Another process that holds the lock until its input ends.
  private func holdElsewhere(as pid: Int32) async throws -> (ChildProcess, input: Int32) {
    try Data("\(pid)\n".utf8).write(to: URL(filePath: home.lock))
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: "holder", path: "/usr/bin/flock", arguments: [home.lock, "sh", "-c", "echo held; read line"],
        environment: ["PATH": "/usr/bin:/bin"]),
      guardian: nil)
    let held = Mailbox<Void>(merge: { _, _ in true })
    let reader = LineReader(
      descriptor: pipes.output, maximumLineLength: 100, handlers: .init(line: { _ in held.post(()) }, end: {}))
    try reader.start()
    close(pipes.error)
    _ = await held.next()
    return (child, pipes.input)
  }

  @Test func `the lock that a killed daemon leaves is waited for`() async throws {
    // No process has such a number.
    let (child, input) = try await holdElsewhere(as: 1 << 30)
    #expect(DaemonLock.isHeld(home) && !DaemonLock.isHolderAlive(home))
    var pauses = 0
    let lock = try DaemonLock(home) {
      if pauses == 0 { close(input) }
      pauses += 1
      usleep(1_000)
    }
    #expect(pauses > 0)
    #expect(DaemonLock.isHeld(home))
    #expect(DaemonLock.holder(home) == getpid())
    lock.release()
    _ = await child.exit()
  }

  @Test func `the lock of a living daemon is refused at once`() async throws {
    let (child, input) = try await holdElsewhere(as: getppid())
    #expect(DaemonLock.isHeld(home) && DaemonLock.isHolderAlive(home))
    #expect(throws: HomeDirectory.Failure.self) { try DaemonLock(home) { Issue.record("it waits") } }
    // A caller that asks again and again must not run out of descriptors.
    #expect(try descriptors(of: home.lock) == 0)
    close(input)
    _ = await child.exit()
  }

  /// How many descriptors of this process are open on a file.
  private func descriptors(of path: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { descriptor in
      // Another test's may have been closed since.
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) == path
    }
  }
}
