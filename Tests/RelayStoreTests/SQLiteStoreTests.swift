import Glibc
import RelayConcurrency
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import RelayStore

private let place = ConversationKey(instance: "discord.default", conversation: "c1")

func message(_ id: String, _ text: String = "hello", in key: ConversationKey = place) -> StoredMessage {
  StoredMessage(
    key: MessageKey(conversation: key, id: id),
    message: MessageReceived(
      id: id, conversation: Conversation(id: key.conversation, kind: .dm), sender: Sender(id: "u", name: "U"),
      text: text))
}

func send(_ key: String, _ text: String = "hi") -> OutboundRecord {
  OutboundRecord(
    key: key, conversation: place,
    request: .message(MessageSend(key: key, conversation: place.conversation, text: text, role: .answer)))
}

@Suite struct SQLiteStoreTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  @Test func `a repeated message is stored once, whatever comes with it`() async throws {
    let store = try SQLiteStore(path: path)
    #expect(try await store.accept(message("1"), state: ["cursor": 1]))
    #expect(try await !store.accept(message("1", "changed"), state: ["cursor": 2]))
    #expect(try await store.accept(message("2"), state: nil))
    #expect(try await store.unfinishedMessages(of: "discord.default").map(\.stored) == [message("1"), message("2")])
    // The cursor that comes with a repeated message still counts.
    #expect(try await store.pluginState(of: "discord.default") == ["cursor": 2])
  }

  @Test func `the text of a message that an agent may have is not replaced`() async throws {
    let store = try SQLiteStore(path: path)
    let change = StageChange(.dispatching(after: .after("e1")))
    _ = try await store.accept(message("1"), state: nil)
    try await store.advance(message("1").key, change, in: "s")
    // A repeat of the message leaves it where it was.
    #expect(try await !store.accept(message("1"), state: nil))
    #expect(try await store.stage(of: message("1").key) == .dispatching(session: "s", after: .after("e1")))
    #expect(try await store.replace(message("1").key, text: "other") == nil)
  }

  @Test func `proof from a session's entries is stored before the session gets another message`() async throws {
    let store = try SQLiteStore(path: path)
    let ids = ["1", "2", "3", "4"]
    for id in ids {
      _ = try await store.accept(message(id), state: nil)
      try await store.advance(message(id).key, StageChange(.dispatching(after: .after("e1"))), in: "s")
    }
    func one(_ id: String) -> DispatchedMessage {
      DispatchedMessage(message: message(id).key, position: .after("e1"))
    }
    // The last one was given again in between.
    try await store.advance(message("4").key, StageChange(.dispatching(after: .after("e2"))), in: "s")
    try await store.resolve(
      [
        one("1"): StageChange(.received), one("2"): StageChange(.accepted),
        one("3"): StageChange(.dispatching(after: .unknown)), one("4"): StageChange(.received),
      ], in: "s")
    var stages: [MessageStage?] = []
    for id in ids { stages.append(try await store.stage(of: message(id).key)) }
    #expect(
      stages == [
        .received, .accepted(session: "s"), .dispatching(session: "s", after: .unknown),
        .dispatching(session: "s", after: .after("e2")),
      ])
    // It waits for the session it was for, and an older entry tells nothing of it any more.
    #expect(try await store.unfinishedMessages(of: "discord.default").first?.session == "s")
    try await store.advance(message("1").key, StageChange(.dispatching(after: .unknown)), in: "s")
    #expect(try await store.stage(of: message("1").key) == .dispatching(session: "s", after: .unknown))
  }

  @Test func `the same id in another conversation is another message`() async throws {
    let store = try SQLiteStore(path: path)
    let other = ConversationKey(instance: "discord.default", conversation: "c2")
    let elsewhere = ConversationKey(instance: "telegram.default", conversation: "c1")
    #expect(try await store.accept(message("1"), state: nil))
    #expect(try await store.accept(message("1", in: other), state: nil))
    #expect(try await store.accept(message("1", in: elsewhere), state: nil))
    #expect(try await store.unfinishedMessages(of: "discord.default").count == 2)
  }

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

  @Test(arguments: [Conclusion.ran, .interrupted, .refused])
  func `a message ends once, and its text is not kept`(conclusion: Conclusion) async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    try await store.end(MessageEnd(of: message("1").key, conclusion))
    try await store.advance(message("1").key, StageChange(.accepted), in: "s")
    #expect(try await store.stage(of: message("1").key) == conclusion.stage)
    #expect(try await store.unfinishedMessages(of: "discord.default").isEmpty)
    #expect(try await !store.accept(message("1"), state: nil))
    await store.close()
    let connection = try SQLiteConnection(path: path)
    #expect(try connection.rows("SELECT count(*) FROM message WHERE body IS NOT NULL") { $0.integer(0) } == [0])
  }

  @Test func `an earlier entry proves nothing about a message that is given again`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    try await store.advance(message("1").key, StageChange(.dispatching(after: .after("e1"))), in: "s")
    try await store.advance(message("1").key, StageChange(.received), in: nil)
    // Others may have been given meanwhile.
    try await store.advance(message("1").key, StageChange(.dispatching(after: .unknown)), in: "s")
    #expect(try await store.stage(of: message("1").key) == .dispatching(session: "s", after: .unknown))
  }

  @Test func `a changed text replaces the old one, unless the message has ended`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1", "old"), state: nil)
    _ = try await store.replace(message("1").key, text: "new")
    #expect(try await store.unfinishedMessages(of: "discord.default").map(\.stored) == [message("1", "new")])
    try await store.end(MessageEnd(of: message("1").key, .handled))
    _ = try await store.replace(message("1").key, text: "newer")
    #expect(try await store.stage(of: message("1").key) == .settled)
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

  @Test func `of a removed instance nothing stays open, and of others everything`() async throws {
    let store = try SQLiteStore(path: path)
    let other = ConversationKey(instance: "attached/t1", conversation: "c1")
    for key in [place, other] {
      _ = try await store.accept(message("1", in: key), state: ["a": 1])
      try await store.bind(Binding(key: key, conversation: Conversation(id: "c1"), session: "s"), because: nil)
    }
    try await store.recordOutbound([send("k")], ending: nil, closing: nil)
    #expect(try await store.instances() == ["attached/t1", "discord.default"])
    try await store.forget(instance: "attached/t1")
    #expect(try await store.instances() == ["discord.default"])
    #expect(try await store.unfinishedMessages(of: "attached/t1").isEmpty)
    #expect(try await store.pluginState(of: "attached/t1") == nil)
    #expect(try await store.unfinishedMessages(of: "discord.default").count == 1)
    #expect(try await store.unfinishedOutbound(of: "discord.default").count == 1)
    #expect(try await store.binding(of: place) == "s")
  }

  @Test func `the messages of a removed instance end as their lives say`() async throws {
    let store = try SQLiteStore(path: path)
    let changes: [(String, StageChange?)] = [
      ("waits", nil), ("is handled", StageChange(.handling)),
      ("may have been given", StageChange(.dispatching(after: .empty))), ("runs", StageChange(.accepted)),
    ]
    for (id, change) in changes {
      _ = try await store.accept(message(id), state: nil)
      if let change { try await store.advance(message(id).key, change, in: "s") }
    }
    _ = try await store.accept(message("has run"), state: nil)
    try await store.end(MessageEnd(of: message("has run").key, .ran))
    try await store.forget(instance: "discord.default")
    #expect(try await store.stage(of: message("waits").key) == .dropped)
    for id in ["is handled", "may have been given", "runs"] {
      #expect(try await store.stage(of: message(id).key) == .interrupted, "\(id)")
    }
    #expect(try await store.stage(of: message("has run").key) == .settled)
  }

  @Test func `messages that ended long ago are removed, and no others`() async throws {
    let clock = Latched(1_000)
    let store = try SQLiteStore(path: path, now: { clock.value })
    for id in ["1", "2", "3"] { _ = try await store.accept(message(id), state: nil) }
    try await store.end(MessageEnd(of: message("1").key, .handled))
    try await store.recordOutbound([send("k1")], ending: nil, closing: nil)
    try await store.recordOutbound([send("k2")], ending: nil, closing: nil)
    store.scheduleSettleOutbound("k1", .sent(message: "p"))
    clock.value = 2_000
    try await store.end(MessageEnd(of: message("2").key, .refused))
    try await store.prune(endedBefore: 1_500)
    #expect(try await store.stage(of: message("1").key) == nil)
    #expect(try await store.stage(of: message("2").key) == .dropped)
    #expect(try await store.stage(of: message("3").key) == .received)
    #expect(try await store.result(of: "k1") == nil)
    #expect(try await store.unfinishedOutbound(of: "discord.default").map(\.record) == [send("k2")])
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

  @Test func `an outcome is known until it has been reported`() async throws {
    let store = try SQLiteStore(path: path)
    for id in ["1", "2"] { _ = try await store.accept(message(id), state: nil) }
    let ends = [
      MessageEnd(of: message("1").key, .ran), MessageEnd(of: message("2").key, .interrupted),
    ]
    try await store.end(ends[0])
    try await store.recordOutbound([send("k")], ending: ends[1], closing: nil)
    // It has ended already.
    try await store.end(MessageEnd(of: message("1").key, .withdrawn))
    #expect(try await store.untoldEnds(of: "discord.default") == ends)
    store.scheduleOutcomeTold(ends[0].key)
    try await store.settled()
    #expect(try await store.untoldEnds(of: "discord.default") == [ends[1]])
  }

  @Test func `the end of a message without a messenger is stored in order and told to nobody`() async throws {
    let store = try SQLiteStore(path: path)
    for id in ["1", "2"] { _ = try await store.accept(message(id), state: nil) }
    let ends = [MessageEnd(of: message("1").key, .ran), MessageEnd(of: message("2").key, .interrupted)]
    store.scheduleEnd(ends[0], isTold: true)
    store.scheduleEnd(ends[1], isTold: false)
    try await store.settled()
    #expect(try await store.unfinishedMessages(of: "discord.default").isEmpty)
    #expect(try await store.untoldEnds(of: "discord.default") == [ends[1]])
  }

  @Test func `the text of an ended message that can be run again is kept until it is, once`() async throws {
    let store = try SQLiteStore(path: path)
    for id in ["1", "2", "3"] { _ = try await store.accept(message(id), state: nil) }
    func again(_ id: String) async throws -> MessageReceived? {
      try await store.accept(runningAgain: message(id).key) { ended in
        var new = ended
        new.id = "new"
        return new
      }
    }
    #expect(try await again("1") == nil)
    let end = MessageEnd(of: message("1").key, .interrupted, keepsWords: true)
    try await store.recordOutbound([send("k")], ending: end, closing: nil)
    try await store.end(MessageEnd(of: message("2").key, .interrupted))
    #expect(try await again("2") == nil)
    #expect(try await again("1") == message("new").message)
    #expect(try await again("1") == nil)
    #expect(
      try await store.unfinishedMessages(of: "discord.default").map(\.stored) == [message("3"), message("new")])
    // Nor are they kept for a message that is deleted, or for an instance that will not be back.
    _ = try await store.accept(message("4"), state: nil)
    try await store.end(MessageEnd(of: message("4").key, .interrupted, keepsWords: true))
    try await store.withdraw(message("4").key)
    #expect(try await again("4") == nil)
    try await store.end(MessageEnd(of: message("3").key, .interrupted, keepsWords: true))
    try await store.forget(instance: "discord.default")
    #expect(try await again("3") == nil)
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

/// A time that tests set.
private final class Latched: Sendable {
  private let stored: Locked<Double>
  init(_ value: Double) { stored = Locked(value) }
  var value: Double {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}
