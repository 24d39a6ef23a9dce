import FoundationEssentials
import Glibc
import RelayJSON
import RelayModel
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

  @Test func `rows outside a damaged page are saved, and the damaged file is kept`() async throws {
    try await fill()
    try damage(pageOf: #""id":"200""#)
    let before = folder.read("relay.db")
    let report = try Salvage.repair(path, stamp: "now")
    #expect(report.aside == path + ".damaged-now")
    #expect(folder.read("relay.db.damaged-now") == before)
    let store = try SQLiteStore(path: path)
    let saved = try await store.unfinishedMessages(of: "discord.default").map(\.stored)
    #expect(saved.count >= 200 && saved.count < 400, "\(saved.count)")
    #expect(Set(saved.map(\.key.id)).isSuperset(of: ["0", "399"]))
    #expect(try await store.sessions().map(\.name) == ["work"])
  }

  @Test func `a file that is not a database is put aside, and a new one made`() async throws {
    try folder.write("relay.db", String(repeating: "nonsense ", count: 1_000))
    let report = try Salvage.repair(path, stamp: "now")
    #expect(report.rows.allSatisfy { $0.count == 0 })
    let store = try SQLiteStore(path: path)
    #expect(try await store.accept(message("1"), state: nil))
  }

  /// A log with a commit for each of ten messages, as a killed process leaves it.
  private func leaveLog() async throws {
    let store = try SQLiteStore(path: path)
    for number in 0..<10 { _ = try await store.accept(message("\(number)"), state: nil) }
    // Copied, since closing it would write it back.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.path + "/left.db" + suffix)
    }
  }

  private func spoil(_ place: (Int) -> Int) throws {
    let log = folder.path + "/left.db-wal"
    let size = try #require(FileManager.default.contents(atPath: log)).count
    let file = open(log, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    var byte: UInt8 = 0
    try #require(pread(file, &byte, 1, off_t(place(size))) == 1)
    byte ^= 0x10
    try #require(pwrite(file, &byte, 1, off_t(place(size))) == 1)
  }

  @Test(arguments: ["in the middle", "in the header"])
  func `a flipped bit in the log is reported, and the commits before it are saved`(place: String) async throws {
    try await leaveLog()
    let left = folder.path + "/left.db"
    // The tables stand before the messages.
    try spoil { place == "in the header" ? 16 : $0 * 3 / 4 }
    // A backup would leave out what cannot be read, and remove the log.
    #expect(throws: StoreError.self) { try SQLiteStore.backUp(left, to: folder.path + "/copy.db", isInUse: false) }
    #expect(access(left + "-wal", F_OK) == 0)
    #expect(access(folder.path + "/copy.db", F_OK) != 0)
    #expect(throws: StoreError.self) { try SQLiteStore(path: left) }
    do { _ = try SQLiteStore(path: left) } catch {
      #expect(error.description.contains("left.db-wal is damaged"), "\(error)")
      #expect(error.description.contains("doctor --repair"))
    }
    let report = try Salvage.repair(left, stamp: "now")
    #expect(access(report.aside + "-wal", F_OK) == 0)
    let store = try SQLiteStore(path: left)
    let saved = try await store.unfinishedMessages(of: "discord.default").map(\.stored.key.id)
    #expect(saved == (0..<saved.count).map(String.init))
    #expect(saved.isEmpty == (place == "in the header"))
  }

  @Test(arguments: ["whole", "torn", "flipped"])
  func `a torn last commit is dropped, because nobody was told of it`(how: String) async throws {
    try await leaveLog()
    let log = folder.path + "/left.db-wal"
    switch how {
    case "torn":
      let size = try #require(FileManager.default.contents(atPath: log)).count
      try #require(truncate(log, off_t(size - 3_000)) == 0)
    case "flipped": try spoil { $0 - 100 }
    default: break
    }
    let store = try SQLiteStore(path: folder.path + "/left.db")
    let kept = try await store.unfinishedMessages(of: "discord.default").count
    #expect(kept == (how == "whole" ? 10 : 9))
  }

  @Test func `without a database there is nothing to repair`() {
    #expect(throws: StoreError.self) { try Salvage.repair(path, stamp: "now") }
    #expect(access(path, F_OK) != 0)
  }

  @Test func `a backup contains the changes that are still in the log`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    try SQLiteStore.backUp(path, to: folder.path + "/copy.db", isInUse: true)
    _ = try await store.accept(message("2"), state: nil)
    let copy = try SQLiteStore(path: folder.path + "/copy.db")
    #expect(try await copy.unfinishedMessages(of: "discord.default").map(\.stored) == [message("1")])
    #expect(throws: StoreError.self) { try SQLiteStore.backUp(path, to: folder.path + "/copy.db", isInUse: true) }
  }

  private func backUp(_ ids: String..., as name: String) async throws -> String {
    let source = try SQLiteStore(path: "\(folder.path)/\(name)-source.db")
    for id in ids { _ = try await source.accept(message(id), state: nil) }
    let copy = "\(folder.path)/\(name).db"
    try SQLiteStore.backUp(source.path, to: copy, isInUse: true)
    return copy
  }

  private func ids(in path: String) async throws -> [String] {
    try await SQLiteStore(path: path).unfinishedMessages(of: "discord.default").map(\.stored.key.id)
  }

  @Test func `an interrupted restore is finished before the next, and both databases are kept`() async throws {
    let (first, second) = (try await backUp("1", as: "first"), try await backUp("2", as: "second"))
    #expect(try await ids(in: path).isEmpty)
    // As a kill leaves it, with the log of a database that was in use.
    try FileManager.default.copyItem(atPath: first, toPath: path + ".ready.before-restore-then")
    try folder.write("relay.db-wal", "no log of the new one")
    let aside = try StoredBackup(second, for: path).putInPlace(stamp: "now")
    #expect(try await ids(in: path) == ["2"])
    #expect(try await ids(in: try #require(aside)) == ["1"])
    #expect(access(path + ".before-restore-then", F_OK) == 0)
    #expect(try await ids(in: path) == ["2"])
  }

  @Test func `the log of the replaced database is put aside with it`() async throws {
    try await leaveLog()
    let left = folder.path + "/left.db"
    let aside = try #require(try StoredBackup(try await backUp("new", as: "first"), for: left).putInPlace(stamp: "now"))
    #expect(access(left + "-wal", F_OK) != 0)
    #expect(try await ids(in: left) == ["new"])
    #expect(try await ids(in: aside) == (0..<10).map(String.init))
  }

  @Test func `a backup file is only read, whatever its mode and links`() async throws {
    let copy = try await backUp("1", as: "first")
    let before = FileManager.default.contents(atPath: copy)
    chmod(copy, 0o400)
    let link = folder.path + "/latest.db"
    try #require(symlink(copy, link) == 0)
    _ = try StoredBackup(link, for: path).putInPlace(stamp: "now")
    #expect(try await ids(in: path) == ["1"])
    #expect(FileManager.default.contents(atPath: copy) == before)
    var status = stat()
    #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o777 == 0o600)
  }

  @Test func `a restored backup replaces the database, which is put aside`() async throws {
    let store = try SQLiteStore(path: path)
    _ = try await store.accept(message("1"), state: nil)
    let copy = folder.path + "/copy.db"
    try SQLiteStore.backUp(path, to: copy, isInUse: true)
    _ = try await store.accept(message("2"), state: nil)
    await store.close()
    let aside = try StoredBackup(copy, for: path).putInPlace(stamp: "now")
    let old = try SQLiteStore(path: try #require(aside))
    #expect(try await old.unfinishedMessages(of: "discord.default").count == 2)
    #expect(try await SQLiteStore(path: path).unfinishedMessages(of: "discord.default").count == 1)
    try folder.write("other", "no backup")
    let error = #expect(throws: StoreError.self) { try StoredBackup(folder.path + "/other", for: path) }
    #expect(
      error?.description == "\(folder.path)/other is no backup of pi-relayd; name a file that pi-relayd backup wrote")
    #expect(try await SQLiteStore(path: path).unfinishedMessages(of: "discord.default").count == 1)
  }
}
