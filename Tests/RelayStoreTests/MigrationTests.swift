import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

@testable import RelayStore

/// Each version of the tables, filled, is brought to the present one with all that it held.
@Suite struct MigrationTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  /// A database as an earlier version left it.
  private func make(version: Int, _ rows: String) throws {
    let connection = try SQLiteConnection(path: path)
    for migration in Schema.migrations.prefix(version) { try connection.execute(migration) }
    try connection.execute("PRAGMA user_version = \(version)")
    try connection.execute(rows)
  }

  private static let firstRows = """
    INSERT INTO message (instance, conversation, id, stage, session, entryBefore, body) VALUES
      ('m', 'c', '1', 0, NULL, NULL, '{"id":"1","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"U"},"text":"a"}'),
      ('m', 'c', '2', 2, 's', 'e', '{"id":"2","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"U"},"text":"b"}');
    INSERT INTO message (instance, conversation, id, stage, endedAt) VALUES ('m', 'c', '3', 10, 5);
    INSERT INTO outbound (key, instance, conversation, kind, body) VALUES
      ('k1', 'm', 'c', 0, '{"key":"k1","conversation":"c","text":"hi","streaming":true}');
    INSERT INTO outbound (key, instance, conversation, kind, result, detail, settledAt) VALUES
      ('k2', 'm', 'c', 0, 0, 'p2', 5);
    INSERT INTO session (id, name, directory, wantsToolImages) VALUES ('s', 'work', '/w', 0);
    INSERT INTO binding VALUES ('m', 'c', 's', '{"id":"c","kind":"dm"}');
    INSERT INTO pluginState VALUES ('m', '{"cursor":7}');
    """

  @Test func `a database of version 1 is migrated`() async throws {
    try make(version: 1, Self.firstRows)
    try await expectEverything()
  }

  @Test func `a database of version 2 is migrated`() async throws {
    try make(version: 2, Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1';")
    try await expectEverything()
  }

  @Test func `a database of version 3 is migrated`() async throws {
    try make(
      version: 3,
      Self.firstRows + """
        UPDATE outbound SET isOpen = 1 WHERE key = 'k1';
        UPDATE message SET outcome = 'answered' WHERE id = '3';
        UPDATE message SET isAnswer = 1 WHERE id = '2';
        INSERT INTO backoff VALUES ('m', 4, 0);
        """)
    let store = try SQLiteStore(path: path)
    #expect(try await store.untoldEnds(of: "m").map(\.outcome) == [.answered])
    #expect(try await store.unfinishedMessages(of: "m").map(\.stored.isAnswer) == [false, true])
    #expect(try await store.backoff(of: "m")?.failures == 4)
    let outbound = try await store.unfinishedOutbound(of: "m")
    #expect(outbound.map(\.record.isOpen) == [true])
    #expect(outbound.map(\.tries) == [SendTries()])
    #expect(try await store.switchedOff().isEmpty)
  }

  @Test func `a database of version 4 is migrated`() async throws {
    try make(
      version: 4,
      Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1'; INSERT INTO switchedOff VALUES ('m');")
    try await expectEverything()
    #expect(try await SQLiteStore(path: path).switchedOff() == ["m"])
  }

  @Test func `a database of version 5 is migrated`() async throws {
    try make(
      version: 5, Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1'; UPDATE session SET role = 'x';")
    try await expectEverything()
  }

  @Test func `a database of version 6 is migrated`() async throws {
    try make(version: 6, Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1';")
    try await expectEverything()
  }

  @Test(arguments: [1, 2]) func `version 6 gives an assistant's session to the only conversation that talks to it`(
    conversations: Int
  ) async throws {
    let others = (1..<conversations).map {
      "INSERT INTO binding VALUES ('m', 'c\($0)', 's', '{\"id\":\"c\($0)\",\"kind\":\"dm\"}');"
    }
    try make(
      version: 6,
      Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1'; UPDATE session SET role = 'owner';"
        + "INSERT INTO session (id, name, directory, wantsToolImages) VALUES ('t', 'other', '/w', 0);"
        + "INSERT INTO binding VALUES ('m', 'd', 't', '{\"id\":\"d\",\"kind\":\"dm\"}');" + others.joined())
    let store = try SQLiteStore(path: path)
    let home = ConversationKey(instance: "m", conversation: "c")
    #expect(try await store.sessions().map(\.home) == [conversations == 1 ? home : nil, nil])
    #expect(try await store.sessions().map(\.role) == [.owner, nil])
  }

  @Test func `a database of version 8 is migrated`() async throws {
    try make(
      version: 8,
      Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1'; UPDATE session SET homeInstance = 'm';")
    try await expectEverything()
    let store = try SQLiteStore(path: path)
    #expect(try await store.sessions().map(\.shownModel) == [nil])
    store.scheduleShownModel("Big", of: "s")
    store.scheduleShownModel("Big", of: "closed meanwhile")
    try await store.settled()
    #expect(try await store.sessions().map(\.shownModel) == ["Big"])
  }

  @Test func `a database of version 9 is migrated`() async throws {
    try make(
      version: 9,
      Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1'; UPDATE session SET knowsDemo = 1;")
    try await expectEverything()
    let store = try SQLiteStore(path: path)
    #expect(try await store.keepNotice("told"))
    #expect(try await store.keepNotice("told") == false)
    #expect(try await SQLiteStore(path: path).keepNotice("told") == false, "it outlives the daemon")
    #expect(try await store.keepNotice("another"))
  }

  @Test func `a database of version 10 is migrated`() async throws {
    try make(
      version: 10,
      Self.firstRows + """
        UPDATE outbound SET isOpen = 1 WHERE key = 'k1';
        INSERT INTO outbound (key, instance, conversation, kind, result, detail, settledAt) VALUES
          ('k3', 'm', 'c', 0, 1, 'too long', 5), ('k4', 'm', 'c', 0, 1, 'gone', 6);
        """)
    try await expectEverything()
    let store = try SQLiteStore(path: path)
    #expect(
      try await store.deliveryCounts() == [DeliveryCount(instance: "m", waiting: 1, failed: 2, lastFailure: "gone")])
  }

  @Test func `a database of version 11 is migrated`() async throws {
    try make(
      version: 11,
      Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1'; INSERT INTO notice VALUES ('told');")
    try await expectEverything()
    let store = try SQLiteStore(path: path)
    #expect(try await store.keepNotice("told") == false)
    #expect(try await store.approvalEvents(last: 9).isEmpty)
    #expect(try await store.persistentGrants(now: 0).isEmpty)
  }

  @Test func `a database of version 13 is migrated`() async throws {
    try make(
      version: 13,
      Self.firstRows + "UPDATE outbound SET isOpen = 1 WHERE key = 'k1'; UPDATE session SET isAttached = 1;")
    try await expectEverything()
    let store = try SQLiteStore(path: path)
    #expect(try await store.sessions().map(\.isAttached) == [true])
    #expect(try await store.pairings().isEmpty)
    #expect(try await store.trustedPeople().isEmpty)
  }

  @Test func `the key of an answer without its words is replaced by the words`() async throws {
    try make(
      version: 6,
      """
      INSERT INTO outbound (key, instance, conversation, kind, body, isOpen) VALUES
        ('k1', 'm', 'c', 5, '{"key":"k1","conversation":"c","text":"","role":"answer","streaming":true}', 1);
      """)
    let store = try SQLiteStore(path: path)
    let left = try #require(try await store.unfinishedOutbound(of: "m").first)
    #expect(left.record.hasKeyOnly && left.message == nil)
    let words = MessageSend(key: "k1", conversation: "c", text: "words", role: .answer)
    let record = OutboundRecord(key: "k1", conversation: left.record.conversation, request: .message(words))
    try await store.recordOutbound([record], ending: nil, closing: nil, superseding: "k1")
    #expect(try await store.unfinishedOutbound(of: "m").map(\.record) == [record])
  }

  @Test func `a damaged database of version 1 is repaired`() async throws {
    try make(version: 1, Self.firstRows)
    _ = try Salvage.repair(path, stamp: "now")
    try await expectEverything()
  }

  private func expectEverything() async throws {
    let store = try SQLiteStore(path: path)
    let messages = try await store.unfinishedMessages(of: "m")
    #expect(messages.map(\.stored.message.text) == ["a", "b"])
    #expect(messages.map(\.stage) == [.received, .dispatching(session: "s", after: .after("e"))])
    #expect(messages.allSatisfy { !$0.stored.isAnswer })
    let key = MessageKey(conversation: ConversationKey(instance: "m", conversation: "c"), id: "3")
    #expect(try await store.stage(of: key) == .settled)
    #expect(try await store.untoldEnds(of: "m").isEmpty)
    #expect(try await store.unfinishedOutbound(of: "m").map(\.record.key) == ["k1"])
    #expect(try await store.result(of: "k2") == .sent(message: "p2"))
    #expect(try await store.sessions().map(\.name) == ["work"])
    #expect(try await store.bindings(of: "m").map(\.session) == ["s"])
    #expect(try await store.pluginState(of: "m") == ["cursor": 7])
  }
}
