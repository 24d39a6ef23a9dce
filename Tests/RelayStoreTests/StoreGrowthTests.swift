import CSQLite
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import RelayStore

/// Work that has ended costs nothing but its space.
@Suite struct StoreGrowthTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  private static let key = ConversationKey(instance: "discord.default", conversation: "c1")

  /// Adds ended rows: half of them in the conversation that is used, the others in one of their own, which is bound.
  private func add(ended count: Int) throws {
    try SQLiteConnection(path: path).execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO message (instance, conversation, id, stage, session, endedAt)
        SELECT 'discord.default', CASE WHEN i % 2 THEN 'c1' ELSE 'c' || i END, 'old' || i, 10, 's', 5000 FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO outbound (key, instance, conversation, kind, result, detail, settledAt)
        SELECT 'old' || i, 'discord.default', CASE WHEN i % 2 THEN 'c1' ELSE 'c' || i END, 0, 0, 'p' || i, 5000 FROM n;
      INSERT INTO binding SELECT DISTINCT instance, conversation, 's', '{}' FROM message WHERE conversation != 'c1';
      """)
  }

  /// Uses the store as a daemon does from its start to its stop.
  ///
  /// - Returns: the steps of SQLite's virtual machine, by statement.
  private func use() async throws -> [String: Int32] {
    let store = try SQLiteStore(path: path, now: { 6_000 })
    let instance = Self.key.instance
    func readAll() async throws {
      _ = try await store.instances()
      _ = try await store.unfinishedMessages(of: instance)
      _ = try await store.untoldEnds(of: instance)
      _ = try await store.unfinishedOutbound(of: instance)
      _ = try await store.deliveryCounts()
      try await store.prune(endedBefore: 4_000)
    }
    // A start also reads every session and binding once, which is left out here.
    try await readAll()
    let ids = ["1", "2", "3", "4"]
    for id in ids { _ = try await store.accept(message(id), state: ["cursor": 1]) }
    let conversation = Conversation(id: "c1", kind: .dm)
    try await store.bind(Binding(key: Self.key, conversation: conversation, session: "s"), because: message("2").key)
    try await store.advance(message("1").key, StageChange(.dispatching(after: .after("e1"))), in: "s")
    for one in try await store.dispatching(to: "s").keys {
      try await store.resolve([one: StageChange(.accepted)], in: "s")
    }
    try await store.recordOutbound([send("k1"), send("k2")], ending: MessageEnd(of: message("1").key, .ran))
    store.scheduleRetryOutbound("k1", SendTries(failed: 1, wait: .seconds(1)))
    store.scheduleSettleOutbound("k1", .sent(message: "p"))
    store.scheduleSettleOutbound("k2", .failed("too long"))
    store.scheduleCloseOutbound("k1")
    store.scheduleOutcomeTold(message("1").key)
    _ = try await store.replace(message("2").key, text: "changed")
    try await store.withdraw(message("2").key)
    try await store.end(MessageEnd(of: message("3").key, .interrupted))
    try await store.settled()
    #expect(try await store.result(of: "k1") == .sent(message: "p"))
    #expect(try await store.stage(of: message("1").key) == .settled)
    try await readAll()
    try await store.forget(instance: "attached/t1")
    let steps = try await store.read { $0.steps }.merging(try await store.commits.write { $0.steps }) { $0 + $1 }
    await store.close()
    return steps
  }

  @Test func `no statement from start to stop takes more steps with more ended messages or sleeping sessions`()
    async throws
  {
    // More than are looked at for removal at once.
    try SQLiteStore.prepare(path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try add(ended: 1_500)
    let few = try await use()
    try SQLiteConnection(path: path).execute(
      "DELETE FROM message; DELETE FROM outbound; DELETE FROM binding; DELETE FROM pluginState")
    try add(ended: 6_000)
    let many = try await use()
    #expect(few.count > 25)
    // Writes share a commit or not as they happen to come: the number of transactions says nothing.
    let transactions = ["BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"]
    for (statement, steps) in many where !transactions.contains(where: { statement.hasPrefix($0) }) {
      #expect(steps == few[statement], "\(statement)")
    }
  }

  @Test func `a large amount of old work is removed to the last row`() async throws {
    let store = try SQLiteStore(path: path, now: { 6_000 })
    _ = try await store.accept(message("waits"), state: nil)
    try add(ended: 2_500)
    _ = try await store.accept(message("young"), state: nil)
    try await store.end(MessageEnd(of: message("young").key, .ran))
    try await store.prune(endedBefore: 5_500)
    let left = try await store.read { try $0.rows("SELECT id FROM message ORDER BY number") { $0.text(0) } }
    #expect(left == ["waits", "young"])
    #expect(try await store.read { try $0.rows("SELECT count(*) FROM outbound") { $0.integer(0) } } == [0])
  }
}

extension SQLiteConnection {
  fileprivate var steps: [String: Int32] {
    statements.mapValues { sqlite3_stmt_status($0, SQLITE_STMTSTATUS_VM_STEP, 0) }
  }
}
