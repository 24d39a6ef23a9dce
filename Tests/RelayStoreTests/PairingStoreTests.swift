import RelayModel
import RelayStore
import RelayWire
import TestSupport
import Testing

@Suite struct PairingStoreTests {
  private static let here = ConversationKey(instance: "m/default", conversation: "dm")

  private static func pairing(_ id: String, session: String?, createdAt: Double = 1) -> Pairing {
    Pairing(
      id: id, conversation: here, person: "ann", name: "Ann", session: session, label: "phone", createdAt: createdAt)
  }

  @Test func `pairings and trust are found again, and a revoked one is found as revoked`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/relay.db"
    var store = try SQLiteStore(path: path)
    let (first, second) = (Self.pairing("1", session: "s1"), Self.pairing("2", session: nil, createdAt: 2))
    let trusted = TrustedPerson(instance: "m/default", person: "ann", name: "Ann", since: 1)
    try await store.add(first, trusting: trusted)
    try await store.add(second)
    try await store.bind(
      Binding(key: Self.here, conversation: Conversation(id: "dm", kind: .dm), session: "s1"), because: nil)
    try await store.end([first], as: .revoked)
    await store.close()
    store = try SQLiteStore(path: path)
    var revoked = first
    revoked.state = .revoked
    #expect(try await store.pairings() == [revoked, second])
    #expect(try await store.trustedPeople() == [trusted])
    // In the same step, so that no later daemon goes on with it.
    #expect(try await store.binding(of: Self.here) == nil)
    // A new pairing takes the place of the revoked one.
    let again = Self.pairing("3", session: "s1", createdAt: 3)
    try await store.add(again)
    #expect(try await store.pairings() == [second, again])
    #expect(try await store.untrust("ann", of: "m/default"))
    #expect(try await !store.untrust("ann", of: "m/default"))
    await store.close()
  }

  @Test func `a pairing moves to another session in one step, and the conversation's choice stays`() async throws {
    let folder = try TemporaryFolder()
    let store = try SQLiteStore(path: folder.path + "/relay.db")
    let (first, next) = (Self.pairing("1", session: "s1"), Self.pairing("2", session: "s2", createdAt: 2))
    try await store.add(first)
    try await store.bind(
      Binding(key: Self.here, conversation: Conversation(id: "dm", kind: .dm), session: "s1"), because: nil)
    try await store.end([first], as: .moved, successors: [next])
    #expect(try await store.pairings().map(\.state) == [.moved, .active])
    #expect(try await store.binding(of: Self.here) == "s1")
    await store.close()
  }

  @Test func `a pairing is stored with the session that its conversation talks to`() async throws {
    let folder = try TemporaryFolder()
    let store = try SQLiteStore(path: folder.path + "/relay.db")
    try await store.add(
      Self.pairing("1", session: "s1"),
      choosing: Binding(key: Self.here, conversation: Conversation(id: "dm", kind: .dm), session: "s1"))
    #expect(try await store.binding(of: Self.here) == "s1")
    await store.close()
  }

  @Test func `the end of one pairing leaves the choice of another session alone`() async throws {
    let folder = try TemporaryFolder()
    let store = try SQLiteStore(path: folder.path + "/relay.db")
    try await store.bind(
      Binding(key: Self.here, conversation: Conversation(id: "dm", kind: .dm), session: "s2"), because: nil)
    let pairing = Self.pairing("1", session: "s1")
    try await store.add(pairing)
    try await store.end([pairing], as: .revoked)
    #expect(try await store.binding(of: Self.here) == "s2")
    await store.close()
  }
}
