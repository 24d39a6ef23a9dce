import RelayModel
import RelayWire
import TestSupport
import Testing

@testable import RelayStore

@Suite struct ApprovalStoreTests {
  private let folder: TemporaryFolder
  private let ann = Requester(
    conversation: ConversationKey(instance: "m", conversation: "c"), person: "ann")

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  private func event(
    _ kind: ApprovalEvent.Kind, _ approval: String, at: Double = 5, by requester: Requester? = nil,
    detail: String? = nil
  ) -> ApprovalEvent {
    ApprovalEvent(
      kind, at: at, approval: approval, session: "s", requester: requester, tool: "bash", category: "git-remote",
      rule: "push", summary: "git push", detail: detail)
  }

  private func grant(
    _ id: String, _ fingerprint: String = "f", by requester: Requester? = nil, from: Double = 10, to: Double = 20
  ) -> ApprovalGrant {
    ApprovalGrant(
      id: id, scope: .persistent, fingerprint: fingerprint, requester: requester ?? ann, summary: "git push",
      createdAt: from, expiresAt: to)
  }

  @Test func `the latest steps are kept, in their order`() async throws {
    let store = try SQLiteStore(path: path)
    let events = ApprovalEvent.Kind.allCases.enumerated().map { number, kind in
      event(
        kind, "a_\(number)", at: Double(number), by: number.isMultiple(of: 2) ? ann : nil,
        detail: number > 4 ? "why" : nil)
    }
    for event in events { try await store.record(event, keeping: 6) }
    #expect(try await store.approvalEvents(last: 100) == Array(events.suffix(6)))
    #expect(try await store.approvalEvents(last: 2) == Array(events.suffix(2)))
    try await store.record(event(.requested, "a_x"), keeping: 3)
    #expect(try await store.approvalEvents(last: 100).map(\.approval) == ["a_8", "a_9", "a_x"])
    #expect(try SQLiteStore.approvals(in: path, last: 1).events.map(\.approval) == ["a_x"])
    #expect(try await SQLiteStore(path: path).approvalEvents(last: 1).map(\.approval) == ["a_x"])
  }

  @Test func `a persistent grant is for the same call of the same person, in its time`() async throws {
    let store = try SQLiteStore(path: path)
    try await store.record(event(.persistentGrantCreated, "g"), keeping: 9, creating: grant("g"))
    #expect(try await store.persistentGrant(for: "f", by: ann, now: 19) == grant("g"))
    #expect(try await store.persistentGrant(for: "e", by: ann, now: 19) == nil)
    #expect(try await store.persistentGrant(for: "f", by: ann, now: 20) == nil)
    let bob = Requester(conversation: ann.conversation, person: "bob")
    #expect(try await store.persistentGrant(for: "f", by: bob, now: 19) == nil)
    let elsewhere = Requester(
      conversation: ConversationKey(instance: "m", conversation: "d"), person: "ann")
    #expect(try await store.persistentGrant(for: "f", by: elsewhere, now: 19) == nil)
    #expect(try await SQLiteStore(path: path).persistentGrants(now: 19) == [grant("g")])
  }

  @Test func `a revoked grant is gone, and its end is recorded`() async throws {
    let store = try SQLiteStore(path: path)
    for id in ["g", "h"] {
      try await store.record(event(.persistentGrantCreated, id), keeping: 9, creating: grant(id))
    }
    let revoked = try await store.revokeGrant("g", keeping: 9) { [self] in event(.grantRevoked, $0.id) }
    #expect(revoked == grant("g"))
    #expect(try await store.persistentGrants(now: 15).map(\.id) == ["h"])
    #expect(try await store.approvalEvents(last: 1) == [event(.grantRevoked, "g")])
    let again = try await store.revokeGrant("g", keeping: 9) { [self] in event(.grantRevoked, $0.id) }
    #expect(again == nil)
    #expect(try await store.approvalEvents(last: 9).count == 3)
  }

  @Test func `a grant whose time is over is removed with the next`() async throws {
    let store = try SQLiteStore(path: path)
    try await store.record(event(.persistentGrantCreated, "g"), keeping: 9, creating: grant("g"))
    try await store.record(event(.persistentGrantCreated, "h"), keeping: 9, creating: grant("h", from: 20, to: 30))
    #expect(try SQLiteStore.approvals(in: path, last: 9).grants.map(\.id) == ["h"])
  }

  @Test func `a grant is not stored without its step`() async throws {
    let store = try SQLiteStore(path: path)
    try await store.record(event(.persistentGrantCreated, "g"), keeping: 9, creating: grant("g"))
    await #expect(throws: StoreError.self) {
      try await store.record(event(.persistentGrantCreated, "g"), keeping: 9, creating: grant("g"))
    }
    #expect(try await store.approvalEvents(last: 9).count == 1)
  }

  @Test func `steps and grants of a damaged database are saved`() async throws {
    let store = try SQLiteStore(path: path)
    try await store.record(event(.persistentGrantCreated, "g"), keeping: 9, creating: grant("g"))
    await store.close()
    _ = try Salvage.repair(path, stamp: "now")
    let saved = try SQLiteStore.approvals(in: path, last: 9)
    #expect(saved.events == [event(.persistentGrantCreated, "g")] && saved.grants == [grant("g")])
  }

  @Test func `approvals of an earlier daemon without an end are cancelled`() async throws {
    let store = try SQLiteStore(path: path)
    for (kind, id, at) in [
      (ApprovalEvent.Kind.requested, "a_1", 1.0), (.requested, "a_2", 2), (.denied, "a_1", 3), (.requested, "a_3", 9),
    ] {
      try await store.record(event(kind, id, at: at, by: ann), keeping: 9)
    }
    for _ in 0..<2 { try await store.cancelApprovals(askedBefore: 9, at: 10, because: "restarted", keeping: 9) }
    let events = try await store.approvalEvents(last: 9)
    #expect(events.count == 5)
    #expect(events.last == event(.cancelled, "a_2", at: 10, by: ann, detail: "restarted"))
  }

  @Test func `a database without approvals has none`() throws {
    #expect(try SQLiteStore.approvals(in: path, last: 9).events.isEmpty)
    let connection = try SQLiteConnection(path: path)
    for migration in Schema.migrations.prefix(11) { try connection.execute(migration) }
    #expect(try SQLiteStore.approvals(in: path, last: 9).grants.isEmpty)
  }
}
