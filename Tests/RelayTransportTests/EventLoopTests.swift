import Glibc
import RelayConcurrency
import RelayTransport
import Testing

@Suite struct EventLoopTests {
  @Test func `a watch closed twice does not close a new descriptor of the same number`() async throws {
    let loop = EventLoop(name: "test")
    let (low, other) = try pipe()
    // A number that no other test gets meanwhile: the highest.
    var limit = rlimit()
    try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    let first = fcntl(low, F_DUPFD_CLOEXEC, Int32(min(limit.rlim_cur, 1 << 20)) - 1)
    try #require(first >= 0)
    let token = try loop.watch(first, .read) { _ in }
    loop.close(token, first)
    await done(on: loop)
    let again = dup2(other, first)
    #expect(again == first)
    loop.close(token, first)
    await done(on: loop)
    #expect(fcntl(first, F_GETFD) >= 0)
    for descriptor in [first, low, other] { _ = close(descriptor) }
  }

  /// Waits until the loop has run everything that was asked before.
  private func done(on loop: EventLoop) async {
    await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
  }

  @Test func `tasks that prefer the loop run on its thread, in turn, without starving descriptors`() async throws {
    let loop = EventLoop(name: "test-loop")
    let name = await withTaskExecutorPreference(loop) {
      await Task.yield()
      var buffer = [UInt8](repeating: 0, count: 32)
      let descriptor = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
      defer { _ = close(descriptor) }
      let count = read(descriptor, &buffer, buffer.count)
      return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
    #expect(name == "test-loop\n")
    // A task that never waits for anything else still lets a descriptor have its turn.
    let (input, output) = try pipe()
    let heard = Locked(false)
    let token = try loop.watch(input, .read) { _ in heard.withLock { $0 = true } }
    _ = write(output, "x", 1)
    await withTaskExecutorPreference(loop) {
      while !heard.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
    }
    #expect(heard.withLock { $0 })
    loop.close(token, input)
    _ = close(output)
  }
}
