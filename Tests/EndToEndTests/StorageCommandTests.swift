import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// The commands on the state as a whole: a copy of it, the copy put back, a damaged one repaired.
  @Suite struct StorageCommandTests {
    @Test func `backup and restore work on a running daemon`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        let file = relay.scratch.path + "/backup.db"
        let backup = try await relay.command("backup", file)
        #expect(backup.exit == .exited(0), "\(backup.errors)")
        #expect(try await relay.command("backup", file).exit == .exited(1))
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        try await relay.messenger.say("/new later", id: "2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        let restore = try await relay.command("restore", file)
        #expect(restore.exit == .exited(0), "\(restore.errors)")
        // The daemon that runs now is another's child; it is ended like any.
        #expect(try await relay.status().sessions.count == 1)
        #expect(try await !relay.messenger.say("hello", id: "1").stored)
        #expect(try await relay.messenger.say("/status", id: "2").stored)
        #expect(try await relay.command("stop").exit == .exited(0))
      }
    }

    @Test func `a daemon that finds a damaged page writes nothing and ends with the reason`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        _ = await relay.stop()
        // The number of the first free page: only a look at all pages finds that it is wrong.
        let file = open(relay.home.database, O_WRONLY | O_CLOEXEC)
        let nonsense: [UInt8] = [0, 0, 0, 9, 0, 0, 0, 9]
        #expect(pwrite(file, nonsense, nonsense.count, 32) == nonsense.count)
        close(file)
        let before = FileManager.default.contents(atPath: relay.home.database)
        // It comes as soon as the messenger is connected.
        let messenger = relay.messenger
        let message = Task { try await messenger.say("more", id: "2") }
        let start = try await relay.command("start")
        #expect(start.exit == .exited(1))
        let reason = try #require(start.errors.last)
        #expect(reason.hasPrefix("pi-relayd: \(relay.home.database) is damaged ("), "\(start.errors)")
        #expect(reason.hasSuffix("); run: pi-relayd doctor --repair"), "\(start.errors)")
        #expect(FileManager.default.contents(atPath: relay.home.database) == before)
        #expect((FileManager.default.contents(atPath: relay.home.database + "-wal") ?? Data()).isEmpty)
        message.cancel()
        #expect(await (try? message.value)?.stored != true)
      }
    }

    @Test func `a damaged state is reported, kept aside and repaired`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        _ = await relay.stop()
        var log = stat()
        #expect(stat(relay.home.database + "-wal", &log) != 0 || log.st_size == 0, "a stop leaves one file")
        let file = open(relay.home.database, O_WRONLY | O_CLOEXEC)
        let nonsense = Array("no database".utf8)
        #expect(pwrite(file, nonsense, nonsense.count, 0) == nonsense.count)
        close(file)
        let start = try await relay.command("start")
        #expect(start.exit == .exited(1))
        #expect(start.errors.joined().contains("\(relay.home.database) is damaged"), "\(start.errors)")
        #expect(start.errors.joined().contains("pi-relayd doctor --repair"))
        let repair = try await relay.command("doctor", "--repair")
        #expect(repair.exit == .exited(0), "\(repair.errors)")
        #expect(repair.output.joined().contains(".damaged-"))
        try await relay.start()
        try await relay.messenger.say("more", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }
  }
}
