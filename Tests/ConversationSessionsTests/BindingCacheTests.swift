import RelayConcurrency
import RelayModel
import Testing

@testable import ConversationSessions

/// The cached session of a conversation beside the one in a store whose commits and reports come in any order.
@Suite(.timeLimit(.minutes(1))) struct BindingCacheTests {
  private static let key = ConversationKey(instance: "fake/default", conversation: "c1")

  private struct Gate: Sendable {
    private let passes = AsyncStream.makeStream(of: Void.self)

    func open() { passes.continuation.yield() }
    func wait() async { for await _ in passes.stream { return } }
  }

  /// A write that reports its steps, and waits for permission to commit and to return.
  private struct Write: Sendable {
    let began = Gate()
    let mayCommit = Gate()
    let committed = Gate()
    let mayReturn = Gate()
    let session: String?

    var change: BindingCache.Change { session.map { .bind($0) } ?? .unbind }

    func run(_ stored: Locked<String?>) async {
      began.open()
      await mayCommit.wait()
      stored.withLock { $0 = session }
      committed.open()
      await mayReturn.wait()
    }

    func commit() async {
      mayCommit.open()
      await committed.wait()
    }
  }

  @Test(arguments: [false, true], [false, true])
  func `the cache agrees with the store after a bind and an unbind that overlap`(
    unbindsLast: Bool, reportsUnbindLast: Bool
  ) async throws {
    let (cache, stored) = (BindingCache(), Locked<String?>("old"))
    let (bind, unbind) = (Write(session: "new"), Write(session: nil))
    #expect(try await cache.session(of: Self.key) { stored.withLock { $0 } } == "old")
    func start(_ write: Write) async -> Task<Void, any Error> {
      let task = Task { try await cache.change(Self.key, write.change) { await write.run(stored) } }
      await write.began.wait()
      return task
    }
    let (binding, unbinding) = (await start(bind), await start(unbind))
    for write in unbindsLast ? [bind, unbind] : [unbind, bind] { await write.commit() }
    for isUnbind in reportsUnbindLast ? [false, true] : [true, false] {
      (isUnbind ? unbind : bind).mayReturn.open()
      try await (isUnbind ? unbinding : binding).value
      // Somebody looks it up between the reports, too.
      _ = try await cache.session(of: Self.key) { stored.withLock { $0 } }
    }
    let cached = try await cache.session(of: Self.key) { stored.withLock { $0 } }
    #expect(cached == stored.withLock { $0 })
    #expect(cached == (unbindsLast ? nil : "new"))
  }

  @Test func `a session that was read before a change is not cached`() async throws {
    let (cache, stored) = (BindingCache(), Locked<String?>("old"))
    let (bind, unbind) = (Write(session: "new"), Write(session: nil))
    let isRead = Gate()
    let mayReturn = Gate()
    let reading = Task {
      try await cache.session(of: Self.key) {
        let session = stored.withLock { $0 }
        isRead.open()
        await mayReturn.wait()
        return session
      }
    }
    await isRead.wait()
    let changes = [bind, unbind].map { write in
      Task { try await cache.change(Self.key, write.change) { await write.run(stored) } }
    }
    for write in [bind, unbind] { await write.began.wait() }
    for write in [bind, unbind] {
      await write.commit()
      write.mayReturn.open()
    }
    for change in changes { try await change.value }
    mayReturn.open()
    #expect(try await reading.value == "old")
    #expect(try await cache.session(of: Self.key) { stored.withLock { $0 } } == nil)
  }

  private struct Failure: Error {}

  @Test func `a change is known without reading, and one that fails changes nothing`() async throws {
    let cache = BindingCache()
    func known() async throws -> String? { try await cache.session(of: Self.key) { throw Failure() } }
    try await cache.change(Self.key, .bind("s1")) {}
    #expect(try await known() == "s1")
    try await cache.change(Self.key, .unbindFrom("s2")) {}
    #expect(try await known() == "s1")
    await #expect(throws: Failure.self) { try await cache.change(Self.key, .unbind) { throw Failure() } }
    #expect(try await known() == "s1")
    try await cache.change(Self.key, .unbindFrom("s1")) {}
    #expect(try await known() == nil)
    try await cache.change(Self.key, .bind("s3")) {}
    cache.forget(instance: Self.key.instance)
    await #expect(throws: Failure.self) { try await known() }
  }
}
