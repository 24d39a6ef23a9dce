import RelayJSON
import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import RelayStore

/// The rows of messages of people, from their arrival to their removal.
@Suite struct StoredMessageTests {
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
}
