import Drills
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayWire
import TestSupport
import Testing

/// A database is exchanged for another by `doctor --repair` and `restore`. Each is killed at one boundary after another:
/// what is found then is the old state or the new one, whole.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ReplacementTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Runs a command once for each chosen boundary and kills it there.
  private func killEverywhere(_ command: [String], _ relay: RelayFixture) async throws {
    let library = try await Interposer.build(in: folder.path)
    let kept = folder.path + "/kept"
    try FileManager.default.copyItem(atPath: relay.home.state, toPath: kept)
    let whole = try Killpoint(library: library)
    let run = try await relay.command(command, with: whole.daemonAlone)
    #expect(run.exit == .exited(0), "\(run.errors)")
    let last = whole.count(of: .daemon)
    try #require(last > 20)
    // Most of them make the new database; the last dozen put it in its place.
    for boundary in Array(stride(from: 1, to: last - 12, by: max(1, last / 12))) + Array(last - 12...last) {
      try FileManager.default.removeItem(atPath: relay.home.state)
      try FileManager.default.copyItem(atPath: kept, toPath: relay.home.state)
      let killpoint = try Killpoint(library: library)
      killpoint.arm(.daemon, at: boundary)
      _ = try await relay.command(command, with: killpoint.daemonAlone)
      #expect(killpoint.hasFired(.daemon))
      try await look(command, relay, kept, "killed at \(boundary) of \(last)")
    }
  }

  /// Checks the database: a damaged one is unchanged, says so, and can still be repaired; any other is whole, and the
  /// database that it replaced is kept.
  private func look(_ command: [String], _ relay: RelayFixture, _ kept: String, _ when: Comment) async throws {
    let before = FileManager.default.contents(atPath: "\(kept)/relay.db")
    if try await relay.command("doctor").output.contains(where: { $0.contains("relay.db is damaged") }) {
      #expect(FileManager.default.contents(atPath: relay.home.database) == before, when)
      #expect(try await relay.command(command).exit == .exited(0), when)
    }
    try await relay.start()
    let isFirstKnown = try await !relay.messenger.say("hello", id: "1").stored
    #expect(isFirstKnown, when)
    let isSecondKnown = try await !relay.messenger.say("more", id: "2").stored
    let names = try FileManager.default.contentsOfDirectory(atPath: relay.home.state)
    #expect(!names.contains { $0.contains(".building-") || $0.contains(".ready.") }, when)
    if isSecondKnown {
      #expect(command.first == "restore", when)
    } else {
      let old = try #require(names.first { $0.hasPrefix("relay.db.") && !$0.hasSuffix("-wal") }, when)
      let aside = "\(relay.home.state)/\(old)"
      #expect(FileManager.default.contents(atPath: aside) == before, when)
      // An empty log is none.
      let logs = [aside, "\(kept)/relay.db"].map { FileManager.default.contents(atPath: $0 + "-wal") ?? Data() }
      #expect(logs[0] == logs[1], when)
    }
    _ = await relay.stop()
  }

  @Test func `a restore that is killed anywhere leaves the old state or the new one`() async throws {
    try await RelayFixture.run { relay in
      try await relay.messenger.say("hello", id: "1")
      _ = await relay.messenger.waitForOutcome(of: "1")
      let backup = folder.path + "/backup.db"
      #expect(try await relay.command("backup", backup).exit == .exited(0))
      try await relay.messenger.say("more", id: "2")
      _ = await relay.messenger.waitForOutcome(of: "2")
      // Killed, so that there is a log beside the database.
      if let daemon = relay.daemon {
        kill(daemon.pid, SIGKILL)
        _ = await daemon.exit()
      }
      try await killEverywhere(["restore", backup], relay)
    }
  }

  @Test func `a repair that is killed anywhere leaves the damaged state or what could be saved`() async throws {
    try await RelayFixture.run { relay in
      try await relay.messenger.say("hello", id: "1")
      _ = await relay.messenger.waitForOutcome(of: "1")
      _ = await relay.stop()
      // The free pages' list: no row is concerned, and yet SQLite calls it damaged.
      let file = open(relay.home.database, O_WRONLY | O_CLOEXEC)
      let nonsense: [UInt8] = [0, 0, 0, 9]
      #expect(pwrite(file, nonsense, nonsense.count, 32) == 4 && pwrite(file, nonsense, nonsense.count, 36) == 4)
      close(file)
      #expect(try await relay.command("start").exit == .exited(1))
      try await killEverywhere(["doctor", "--repair"], relay)
    }
  }
}
