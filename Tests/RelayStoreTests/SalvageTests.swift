import Glibc
import RelayWire
import TestSupport
import Testing

@testable import RelayStore

@Suite struct SalvageTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/relay.db" }

  /// A database of 400 messages on many pages, all of it in the main file.
  private func fill() async throws {
    let store = try SQLiteStore(path: path)
    for number in 0..<400 { _ = try await store.accept(message("\(number)"), state: ["n": .integer(Int64(number))]) }
    try await store.saveSession(
      SessionRecord(id: "s", name: "work", directory: "/w", model: nil, wantsToolImages: false))
    await store.close()
    try SQLiteConnection(path: path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Spoils the page that holds this text.
  private func damage(pageOf text: String) throws {
    let file = open(path, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    var page = [UInt8](repeating: 0, count: 4_096)
    for number in 1..<1_000 where pread(file, &page, page.count, 4_096 * number) == page.count {
      guard page.firstRange(of: Array(text.utf8)) != nil else { continue }
      page = [UInt8](repeating: 0xA5, count: page.count)
      try #require(pwrite(file, page, page.count, 4_096 * number) == page.count)
      return
    }
    Issue.record("\(text) stands nowhere")
  }

  @Test func `what lies around a damaged page is saved, and the damaged file kept`() async throws {
    try await fill()
    try damage(pageOf: #""id":"200""#)
    let before = folder.read("relay.db")
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
    let report = try Salvage.repair(path, stamp: "now")
    #expect(report.aside == path + ".damaged-now")
    #expect(folder.read("relay.db.damaged-now") == before)
    let store = try SQLiteStore(path: path)
    let saved = try await store.unfinishedMessages(of: "discord.default").map(\.stored)
    #expect(saved.count >= 200 && saved.count < 400, "\(saved.count)")
    #expect(Set(saved.map(\.key.id)).isSuperset(of: ["0", "399"]))
    #expect(try await store.sessions().map(\.name) == ["work"])
  }

  @Test func `a file that is no database at all is put aside, and a new one made`() async throws {
    try folder.write("relay.db", String(repeating: "nonsense ", count: 1_000))
    let report = try Salvage.repair(path, stamp: "now")
    #expect(report.rows.allSatisfy { $0.count == 0 })
    let store = try SQLiteStore(path: path)
    #expect(try await store.accept(message("1"), state: nil))
  }

  @Test func `where there is nothing, nothing is repaired`() {
    #expect(throws: StoreError.self) { try Salvage.repair(path, stamp: "now") }
    #expect(access(path, F_OK) != 0)
  }

  @Test func `a backup holds what the log has not written back yet`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    try SQLiteStore.backUp(path, to: folder.path + "/copy.db")
    _ = try await store.accept(message("2"), state: nil)
    let copy = try SQLiteStore(path: folder.path + "/copy.db")
    #expect(try await copy.unfinishedMessages(of: "discord.default").map(\.stored) == [message("1")])
    #expect(throws: StoreError.self) { try SQLiteStore.backUp(path, to: folder.path + "/copy.db") }
  }

  @Test func `a restored backup replaces the database, which is put aside`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    let copy = folder.path + "/copy.db"
    try SQLiteStore.backUp(path, to: copy)
    _ = try await store.accept(message("2"), state: nil)
    await store.close()
    let aside = try StoredBackup(copy, for: path).putInPlace(stamp: "now")
    let old = try SQLiteStore(path: try #require(aside))
    #expect(try await old.unfinishedMessages(of: "discord.default").count == 2)
    #expect(try await SQLiteStore(path: path).unfinishedMessages(of: "discord.default").count == 1)
    try folder.write("other", "no backup")
    #expect(throws: StoreError.self) { try StoredBackup(folder.path + "/other", for: path) }
    #expect(try await SQLiteStore(path: path).unfinishedMessages(of: "discord.default").count == 1)
  }
}
