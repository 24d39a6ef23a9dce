import RelayConcurrency
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import RelayStore

/// The state that must outlive a daemon besides messages themselves.
@Suite struct StoreDurabilityTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  @Test func `only a waiting message is replaced, and one that an agent has is not withdrawn`() async throws {
    let store = try SQLiteStore(path: path)
    for id in ["1", "2", "3", "4"] { _ = try await store.accept(message(id), state: nil) }
    try await store.advance(message("3").key, StageChange(.dispatching(after: .unknown)), in: "s")
    try await store.advance(message("4").key, StageChange(.accepted), in: "s")
    for id in ["2", "3", "4"] {
      _ = try await store.replace(message(id).key, text: "changed")
      try await store.withdraw(message(id).key)
    }
    let left = try await store.unfinishedMessages(of: "discord.default")
    #expect(left.map(\.stored.message.text) == ["hello", "changed", "hello", "hello"])
    #expect(left.map(\.isWithdrawn) == [false, true, true, false])
  }

  @Test func `tries and the rest of the wait are known to the next process`() async throws {
    let time = Locked(1_000.0)
    do {
      let store = try SQLiteStore(path: path, now: { time.withLock { $0 } })
      try await store.recordOutbound([send("k1"), send("k2")], ending: nil, closing: nil)
      store.scheduleRetryOutbound("k1", SendTries(failed: 2, wait: .seconds(30)))
      try await store.settled()
    }
    func left(at now: Double) async throws -> [SendTries] {
      time.withLock { $0 = now }
      let store = try SQLiteStore(path: path, now: { time.withLock { $0 } })
      return try await store.unfinishedOutbound(of: "discord.default").map(\.tries)
    }
    #expect(try await left(at: 1_010) == [SendTries(failed: 2, wait: .seconds(20)), SendTries()])
    #expect(try await left(at: 5_000).first == SendTries(failed: 2))
    // The wall clock was set back.
    #expect(try await left(at: 10).first == SendTries(failed: 2, wait: .seconds(30)))
  }

  @Test func `open and given up output is counted`() async throws {
    let store = try SQLiteStore(path: path)
    try await store.recordOutbound(["a", "b", "c", "d"].map { send($0) }, ending: nil, closing: nil)
    store.scheduleSettleOutbound("a", .sent(message: "p"))
    store.scheduleSettleOutbound("b", .failed("too long"))
    store.scheduleSettleOutbound("c", .abandoned)
    try await store.settled()
    #expect(
      try await store.deliveryCounts() == [
        DeliveryCount(instance: "discord.default", waiting: 1, failed: 1, lastFailure: "too long")
      ])
  }

  @Test func `a row that cannot be understood does not affect its neighbours`() async throws {
    do {
      let store = try SQLiteStore(path: path)
      for id in ["1", "2", "3"] { _ = try await store.accept(message(id), state: nil) }
      try await store.recordOutbound([send("a"), send("b")], ending: nil, closing: nil)
      await store.close()
    }
    do {
      let connection = try SQLiteConnection(path: path)
      try connection.execute(
        "UPDATE message SET body = '{' WHERE id = '2'; UPDATE outbound SET kind = 99 WHERE key = 'a'")
    }
    let reports = Locked<[String]>([])
    let store = try SQLiteStore(path: path, logger: .lines { text in reports.withLock { $0.append(text) } })
    #expect(try await store.unfinishedMessages(of: "discord.default").map(\.stored.key.id) == ["1", "3"])
    #expect(try await store.unfinishedOutbound(of: "discord.default").map(\.record.key) == ["b"])
    #expect(reports.withLock { $0.count { $0.contains("cannot be read and is left unchanged") } } == 2)
    #expect(reports.withLock { $0.contains { $0.contains("message 2 of discord.default:c1") } })
  }

  @Test func `the stored switch of a plugin is read back`() async throws {
    do {
      let store = try SQLiteStore(path: path)
      for name in ["a", "b", "b"] { try await store.switchOff(name, true) }
      try await store.switchOff("a", false)
    }
    #expect(try await SQLiteStore(path: path).switchedOff() == ["b"])
  }
}
