import Glibc
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import RelayStore

/// Where the disk refuses, nothing is acknowledged.
@Suite struct StoreFailureTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  /// A connection with the tables of the store.
  private func connection() throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path)
    try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (words TEXT)")
    return connection
  }

  private func failure(_ body: () async throws -> Void) async -> StoreError? {
    do { try await body() } catch { return error as? StoreError }
    return nil
  }

  @Test func `a full disk is reported, and forgotten when there is space`() async throws {
    let connection = try connection()
    let commits = CommitQueue(connection, path: path)
    let words = String(repeating: "x", count: 10_000)
    let pages = try connection.rows("PRAGMA page_count") { $0.integer(0) }.first ?? 0
    try connection.execute("PRAGMA max_page_count = \(pages + 1)")
    let error = await failure { _ = try await commits.write { try $0.run("INSERT INTO t VALUES (?)", .text(words)) } }
    #expect(error?.description == "\(path): the disk is full; free space, and messages are accepted again")
    try connection.execute("PRAGMA max_page_count = 100000")
    #expect(try await commits.write { try $0.run("INSERT INTO t VALUES (?)", .text(words)) } == 1)
    #expect(try await commits.write { try $0.rows("SELECT count(*) FROM t") { $0.integer(0) } } == [1])
  }

  @Test func `of many callers that share a commit, only those without space get an error`() async throws {
    let connection = try connection()
    let commits = CommitQueue(connection, path: path)
    let pages = try connection.rows("PRAGMA page_count") { $0.integer(0) }.first ?? 0
    try connection.execute("PRAGMA max_page_count = \(pages + 8)")
    let words = String(repeating: "x", count: 4_000)
    let stored = await withTaskGroup(of: Int?.self) { group in
      for number in 0..<40 {
        group.addTask {
          do {
            try await commits.write { try $0.run("INSERT INTO t VALUES (?)", .text("\(number) \(words)")) }
            return number
          } catch {
            return nil
          }
        }
      }
      return await group.reduce(into: Set<Int>()) { if let number = $1 { $0.insert(number) } }
    }
    #expect(!stored.isEmpty && stored.count < 40)
    let found = try connection.rows("SELECT words FROM t") { $0.text(0) }
    #expect(Set(found.compactMap { Int($0.prefix { $0 != " " }) }) == stored)
  }

  @Test func `a database that cannot be written is reported by name`() async throws {
    let connection = try connection()
    let commits = CommitQueue(connection, path: path)
    try connection.execute("PRAGMA query_only = ON")
    let error = await failure { _ = try await commits.write { try $0.run("INSERT INTO t VALUES ('x')") } }
    #expect(error?.description.contains("\(path) cannot be written") == true, "\(String(describing: error))")
  }

  @Test func `after an error of the disk nothing more is stored`() async throws {
    let connection = try connection()
    let commits = CommitQueue(connection, path: path)
    // The error that SQLite reports for `fsync` when the disk fails.
    let first = await failure {
      try await commits.write { _ in throw SQLiteError(code: 1_034, message: "disk I/O error") }
    }
    #expect(first?.isLasting == true)
    let second = await failure { _ = try await commits.write { try $0.run("INSERT INTO t VALUES ('x')") } }
    #expect(second?.isLasting == true)
    #expect(try connection.rows("SELECT count(*) FROM t") { $0.integer(0) } == [0])
  }

  /// A database of 200 messages, a page of which is gone.
  private func makeTorn() async throws {
    let store = try SQLiteStore(path: path)
    for number in 0..<200 { _ = try await store.accept(message("\(number)"), state: nil) }
    await store.close()
    let file = open(path, O_WRONLY | O_CLOEXEC)
    let nothing = [UInt8](repeating: 0, count: 4_096)
    #expect(pwrite(file, nothing, nothing.count, 4_096 * 8) == nothing.count)
    close(file)
  }

  /// Keeps the thread of checks and writes busy until the end of `body`.
  private func holdingWrites<Value>(_ body: () async throws -> Value) async throws -> Value {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    let (hold, release) = (ends[0], ends[1])
    CommitQueue.loop.perform {
      var byte: UInt8 = 0
      _ = read(hold, &byte, 1)
      close(hold)
    }
    defer { close(release) }
    return try await body()
  }

  @Test func `a torn file is named by the check, and nothing is written before it or after it`() async throws {
    try await makeTorn()
    let before = folder.read("relay.db")
    do {
      let (failures, told) = AsyncStream<StoreError?>.makeStream()
      let store = try await holdingWrites {
        let store = try SQLiteStore(path: path, damaged: { told.yield($0) })
        store.accept(message("early"), encoded: nil, state: nil) { result in
          if case .failure(let error) = result { told.yield(error as? StoreError) } else { told.yield(nil) }
        }
        #expect(try await store.unfinishedMessages(of: "discord.default").count == 200)
        return store
      }
      var iterator = failures.makeAsyncIterator()
      let first = await iterator.next()
      let failure = try #require(first ?? nil)
      #expect(failure.description.hasPrefix("\(path) is damaged ("), "\(failure)")
      #expect(failure.description.hasSuffix("); run: pi-relayd doctor --repair"))
      #expect(await iterator.next() == failure)
      #expect(store.failure == failure)
      #expect(await self.failure { _ = try await store.accept(message("late"), state: nil) } == failure)
      await store.close()
    }
    #expect(folder.read("relay.db") == before)
  }

  @Test func `a whole file is read during its check and written after it`() async throws {
    let (answers, told) = AsyncStream<Bool>.makeStream()
    let store = try await holdingWrites {
      let store = try SQLiteStore(path: path, damaged: { Issue.record($0) })
      store.accept(message("1"), encoded: nil, state: nil) { told.yield((try? $0.get()) == true) }
      #expect(try await store.unfinishedMessages(of: "discord.default").isEmpty)
      return store
    }
    #expect(await answers.first { _ in true } == true)
    #expect(try await store.unfinishedMessages(of: "discord.default").count == 1)
    #expect(store.failure == nil)
  }

  @Test func `a damaged file of an earlier version is left unchanged`() async throws {
    try await makeTorn()
    try SQLiteConnection(path: path).execute("PRAGMA user_version = 1; PRAGMA wal_checkpoint(TRUNCATE)")
    let before = folder.read("relay.db")
    let error = await failure { _ = try SQLiteStore(path: path) }
    #expect(error?.description.contains("\(path) is damaged") == true, "\(String(describing: error))")
    #expect(folder.read("relay.db") == before)
  }

  @Test func `a closed store refuses changes`() async throws {
    let store = try SQLiteStore(path: path)
    await store.close()
    let error = await failure { _ = try await store.accept(message("1"), state: nil) }
    #expect(error == .closed)
  }

  @Test func `a row that cannot be read back is not extended`() async throws {
    let path = folder.path + "/relay.db"
    let long = String(repeating: "x", count: 4_000)
    do {
      let store = try SQLiteStore(path: path)
      for number in 0..<1_000 { _ = try await store.accept(message("\(number)", long), state: nil) }
      await store.close()
    }
    let store = try SQLiteStore(path: path)
    let file = open(path, O_WRONLY | O_CLOEXEC)
    let nonsense = [UInt8](repeating: 0xA5, count: 3 << 20)
    #expect(pwrite(file, nonsense, nonsense.count, 64 << 10) == nonsense.count)
    close(file)
    await #expect(throws: StoreError.self) { try await store.unfinishedMessages(of: "discord.default") }
    let error = await #expect(throws: StoreError.self) { try await store.accept(message("new"), state: nil) }
    #expect(error?.isLasting == true)
    #expect(error?.description.contains("pi-relayd doctor --repair") == true)
  }
}
