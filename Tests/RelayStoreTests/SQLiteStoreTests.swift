import Glibc
import RelayJSON
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import RelayStore

@Suite struct SQLiteStoreTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  @Test func `the next process finds everything again`() async throws {
    let session = SessionRecord(
      id: "s", name: "work", directory: "/w", model: "m", wantsToolImages: true, home: place, shownModel: "Big")
    let binding = Binding(key: place, conversation: Conversation(id: "c1", kind: .dm), session: "s")
    do {
      let store = try SQLiteStore(path: path)
      _ = try await store.accept(message("1"), state: ["a": "b"])
      _ = try await store.accept(message("2"), state: nil)
      _ = try await store.accept(message("3"), state: nil)
      try await store.advance(message("1").key, StageChange(.dispatching(after: .after("e1"))), in: "s")
      try await store.advance(message("2").key, StageChange(.accepted), in: "s")
      try await store.saveSession(session)
      try await store.bind(binding, because: nil)
      try await store.recordOutbound([send("k1")], ending: nil, closing: nil)
      try await store.recordOutbound([send("k2")], ending: nil, closing: nil)
      store.scheduleSettleOutbound("k1", .sent(message: "p1"))
      try await store.recordOutbound([send("k3")], ending: nil, closing: nil)
    }
    // The first is not closed: its process might as well have been killed.
    let store = try SQLiteStore(path: path)
    #expect(
      try await store.unfinishedMessages(of: "discord.default").map(\.stage) == [
        .dispatching(session: "s", after: .after("e1")), .accepted(session: "s"), .received,
      ])
    #expect(try await store.sessions() == [session])
    #expect(try await store.bindings(of: "discord.default") == [binding])
    #expect(try await store.binding(of: place) == "s")
    #expect(try await store.pluginState(of: "discord.default") == ["a": "b"])
    #expect(try await store.unfinishedOutbound(of: "discord.default").map(\.record) == [send("k2"), send("k3")])
    #expect(try await store.result(of: "k1") == .sent(message: "p1"))
    #expect(try await store.result(of: "k2") == nil)
  }

  @Test func `the conversations of a removed session are still known`() async throws {
    let store = try SQLiteStore(path: path)
    try await store.saveSession(
      SessionRecord(id: "s", name: "work", directory: "/w", model: nil, wantsToolImages: false))
    try await store.bind(
      Binding(key: place, conversation: Conversation(id: "c1", kind: .dm), session: "s"), because: nil)
    try await store.removeSession("s")
    #expect(try await store.sessions().isEmpty)
    #expect(try await store.binding(of: place) == "s")
  }

  @Test func `messages of many callers at once are all stored, each with its own result`() async throws {
    let store = try SQLiteStore(path: path)
    let results = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<500 { group.addTask { try await store.accept(message("\(number % 250)"), state: nil) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count { $0 } == 250)
    #expect(try await store.unfinishedMessages(of: "discord.default").count == 250)
  }

  @Test func `a failing change does not affect its neighbours in the commit`() async throws {
    let store = try SQLiteStore(path: path)
    try await store.recordOutbound([send("k")], ending: nil, closing: nil)
    let outcomes = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<50 {
        group.addTask {
          // Every fifth uses a key that is taken.
          let key = number % 5 == 0 ? "k" : "k\(number)"
          do { try await store.recordOutbound([send(key)], ending: nil, closing: nil) } catch { return false }
          return true
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.count { $0 } == 40)
    #expect(try await store.unfinishedOutbound(of: "discord.default").count == 41)
  }

  @Test func `growing and waiting output is found until it is closed`() async throws {
    let store = try SQLiteStore(path: path)
    var growing = send("k1")
    if case .message(var message) = growing.request {
      message.streaming = true
      growing.request = .message(message)
    }
    let question = OutboundRecord(
      key: "k2", conversation: place,
      request: .dialog(DialogShow(key: "k2", conversation: "c1", dialog: "d", kind: .confirm, text: "?")))
    try await store.recordOutbound([growing, question, send("k3")], ending: nil, closing: nil)
    store.scheduleSettleOutbound("k1", .sent(message: "p1"))
    store.scheduleSettleOutbound("k3", .sent(message: "p3"))
    try await store.settled()
    #expect(
      try await store.unfinishedOutbound(of: "discord.default") == [
        UnfinishedOutbound(record: growing, message: "p1"), UnfinishedOutbound(record: question),
      ])
    try await store.prune(endedBefore: .greatestFiniteMagnitude)
    try await store.recordOutbound([send("k4")], ending: nil, closing: "k1")
    store.scheduleSettleOutbound("k2", .failed("gone"))
    try await store.settled()
    #expect(try await store.unfinishedOutbound(of: "discord.default").map(\.record) == [send("k4")])
  }

  @Test func `a plugin is held back as long as it was, and no longer`() async throws {
    let clock = Latched(1_000)
    let store = try SQLiteStore(path: path, now: { clock.value })
    #expect(try await store.backoff(of: "p") == nil)
    store.scheduleSaveBackoff(Backoff(failures: 4, wait: .seconds(30)), of: "p")
    try await store.settled()
    clock.value = 1_010
    #expect(try await store.backoff(of: "p") == Backoff(failures: 4, wait: .seconds(20)))
    clock.value = 2_000
    #expect(try await store.backoff(of: "p") == Backoff(failures: 4, wait: .zero))
    store.scheduleSaveBackoff(nil, of: "p")
    try await store.settled()
    #expect(try await store.backoff(of: "p") == nil)
  }

  @Test func `the files of the database are for their owner alone`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    for suffix in ["", "-wal", "-shm"] {
      var status = stat()
      #expect(stat(path + suffix, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
    }
    await store.close()
  }

  @Test func `reading and writing do not wait for each other`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    let other = try SQLiteConnection(path: path)
    try other.run("BEGIN IMMEDIATE")
    // The database is being written by somebody else, for as long as this takes.
    #expect(try await store.unfinishedMessages(of: "discord.default").count == 1)
    try other.run("COMMIT")
    try other.run("BEGIN")
    #expect(try other.rows("SELECT count(*) FROM message") { $0.integer(0) } == [1])
    // Here somebody is in the middle of reading.
    #expect(try await store.accept(message("2"), state: nil))
    #expect(try other.rows("SELECT count(*) FROM message") { $0.integer(0) } == [1])
    try other.run("COMMIT")
  }

  @Test func `a database of a newer version is refused and left alone`() async throws {
    try await SQLiteStore(path: path).close()
    try SQLiteConnection(path: path).execute("PRAGMA user_version = 99")
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
    do {
      _ = try SQLiteStore(path: path)
    } catch {
      #expect(error.description.contains("newer pi-relayd"))
    }
  }

  @Test func `a file that is not a database is reported by name`() throws {
    try folder.write("relay.db", String(repeating: "no database at all ", count: 1_000))
    do {
      _ = try SQLiteStore(path: path)
      Issue.record("it was opened")
    } catch {
      #expect(error.description.contains(path) && error.description.contains("damaged"), "\(error)")
    }
  }
}
