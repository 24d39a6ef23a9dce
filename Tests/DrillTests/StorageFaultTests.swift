import ControlServer
import Drills
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

/// A disk that refuses: what is not stored is not acknowledged, the daemon says which file and why, and what was
/// acknowledged is there afterwards.
@Suite(.serialized, .timeLimit(.minutes(2))) struct StorageFaultTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func failing(_ call: String, _ error: Int32, on path: String, first: Int = 1, count: Int = 1_000_000)
    async throws -> Programs
  {
    Interposer.failing(
      call, with: error, on: path, first: first, count: count, library: try await Interposer.build(in: folder.path))
  }

  /// Says messages until one is refused; answers how many were taken.
  private func sayUntilRefused(_ relay: RelayFixture) async throws -> Int {
    for number in 1... {
      do {
        try await relay.messenger.say("note \(number)", id: "\(number)")
      } catch let error as ConnectionError {
        #expect(error.description.contains("it could not be stored; send it again"))
        return number - 1
      }
    }
    return 0
  }

  @Test(arguments: [("fdatasync", EIO), ("pwrite64", EIO)])
  func `after an error of the disk nothing is acknowledged until a new start`(call: String, error: Int32) async throws {
    let programs = try await failing(call, error, on: "relay.db-wal", first: 120)
    try await RelayFixture.run(programs: programs) { relay in
      let taken = try await sayUntilRefused(relay)
      #expect(taken > 0)
      try await relay.waitForLog("relay.db: the disk failed")
      await #expect(throws: ConnectionError.self) { try await relay.messenger.say("more", id: "more") }
      let upgrade = try await relay.command("upgrade")
      #expect(upgrade.exit == .exited(1))
      #expect(upgrade.errors.joined().contains("nothing can be stored"), "\(upgrade.errors)")
      relay.use(.built)
      try await relay.killAndStart()
      for number in 1...taken { #expect(try await !relay.messenger.say("note", id: "\(number)").stored) }
      try await relay.messenger.say("more", id: "more")
      #expect(await relay.messenger.waitForOutcome(of: "more") == .answered)
    }
  }

  @Test func `messages are refused while the disk is full and accepted once there is room`() async throws {
    let programs = try await failing("pwrite64", ENOSPC, on: "relay.db-wal", first: 120, count: 200)
    try await RelayFixture.run(programs: programs) { relay in
      _ = try await sayUntilRefused(relay)
      try await relay.waitForLog("relay.db: the disk is full")
      while true {
        do {
          try await relay.messenger.say("there is room", id: "room")
          break
        } catch is ConnectionError {
          // Each try uses up some of the faults.
        }
      }
      #expect(await relay.messenger.waitForOutcome(of: "room") == .answered)
    }
  }

  @Test func `a message whose dispatch cannot be stored is not given to the agent`() async throws {
    let full = folder.path + "/full"
    let programs = Interposer.failing(
      "pwrite64", with: ENOSPC, on: "relay.db-wal", library: try await Interposer.build(in: folder.path), while: full)
    try await RelayFixture.run(programs: programs) { relay in
      try await relay.messenger.say("/slow 30", id: "1")
      await relay.messenger.waitForText("The quick")
      try await relay.messenger.say("the second", id: "2")
      try folder.write("full", "")
      try await relay.waitForLog("a message waits until its dispatch can be stored")
      let file = try #require(try await relay.status().sessions.first?.sessionFile)
      let session = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
      #expect(!session.contains("the second"))
      try FileManager.default.removeItem(atPath: full)
      #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      #expect(await relay.messenger.texts(role: .answer).count { $0.hasPrefix("You wrote: the second") } == 1)
    }
  }

  @Test func `a file system that cannot be written is named at the start`() async throws {
    let programs = try await failing("open", EROFS, on: "/state/relay.db")
    try await RelayFixture.run(programs: programs, startsDaemon: false) { relay in
      await #expect(throws: SystemError.self) { try await relay.start() }
      #expect(
        relay.log.contains { $0.contains("/state/relay.db") && $0.contains("Read-only file system") }, "\(relay.log)")
    }
  }

  @Test func `a repair that cannot put the damaged file aside says so and changes nothing`() async throws {
    let programs = try await failing("rename", EIO, on: "relay.db")
    try await RelayFixture.run { relay in
      try await relay.messenger.say("hello", id: "1")
      _ = await relay.messenger.waitForOutcome(of: "1")
      _ = await relay.stop()
      let before = FileManager.default.contents(atPath: relay.home.database)
      let repair = try await relay.command(["doctor", "--repair"], with: programs)
      #expect(repair.exit == .exited(1))
      #expect(repair.errors.joined().contains("cannot be moved to \(relay.home.database).ready"), "\(repair.errors)")
      #expect(FileManager.default.contents(atPath: relay.home.database) == before)
      try await relay.start()
      #expect(try await !relay.messenger.say("hello", id: "1").stored)
    }
  }
}
