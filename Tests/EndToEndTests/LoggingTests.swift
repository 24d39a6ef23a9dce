import ControlServer
import FoundationEssentials
import ProcessSupervision
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// The daemon's log: its levels, and the choice of lines in `pi-relayd logs`.
  @Suite struct LoggingTests {
    private func log(_ relay: RelayFixture) -> [String] {
      let data = FileManager.default.contents(atPath: relay.home.daemonLog) ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func `a reload changes the level of the daemon's log, and no other setting that needs a start`()
      async throws
    {
      try await RelayFixture.run { relay in
        try await relay.waitForLog("is ready in")
        let file = relay.home.path + "/relay.yaml"
        let right = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        func reload(_ logging: String, bridge: String = "{}") async throws {
          try relay.scratch.write("home/relay.yaml", right + "\nlogging: \(logging)\nbridge: \(bridge)\n")
          #expect(try await relay.command("reload").exit == .exited(0))
        }
        try await reload("{level: error}")
        try await reload("{level: notice, keep: 7}", bridge: "{historyLimit: 7}")
        try await relay.waitForLog("these settings take effect at the next start: logging.keep, bridge")
        try await relay.waitForLog("the configuration was read again")
        let lines = log(relay).map { $0.drop { $0 != " " }.dropFirst() }
        #expect(lines.contains { $0.hasPrefix("notice pi-relayd ") && $0.contains(" is ready in ") }, "\(lines)")
        // Not of the reload that left only errors.
        #expect(lines.count { $0 == "notice the configuration was read again" } == 1, "\(lines)")
        #expect(lines.count { $0.hasSuffix("at the next start: logging.keep, bridge") } == 1, "\(lines)")
        let refused = try await relay.command("config", "check")
        #expect(refused.exit == .exited(0))
        try relay.scratch.write("home/relay.yaml", right + "\nlogging:\n  level: loud\n")
        let check = try await relay.command("config", "check")
        #expect(
          check.errors.contains { $0.hasSuffix("level: expected one of debug, info, notice, warning, error") },
          "\(check.errors)")
      }
    }

    @Test func `logs shows the lines of a session, which is given by its name`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/crash now", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        let session = try #require(try await relay.status().sessions.first)
        try await relay.waitForLog("session \(session.name): pi ended in mid-run")
        let lines = try await relay.command("logs", "--session", session.name).output
        #expect(lines.contains { $0.contains(" warning [session=\(session.id) name=") }, "\(lines)")
        #expect(lines.allSatisfy { $0.contains("session=\(session.id) ") }, "\(lines)")
      }
    }

    @Test func `logs shows the lines of a level and of a session, and names invalid values`() async throws {
      try await RelayFixture.run(startsDaemon: false) { relay in
        try relay.scratch.write(
          "home/logs/pi-relayd.log",
          """
          2026-11-25T02:11:03.123Z info [session=1f3a-22 conversation=c1] one
          2026-11-25T02:11:03.124Z warning [instance=fake/default] two
          and its second line
          2026-11-25T02:11:03.125Z error [session=1f3b-33] three

          """)
        func shown(_ arguments: String...) async throws -> [String] {
          try await relay.command(["logs"] + arguments).output.map { String($0.split(separator: " ").last ?? "") }
        }
        #expect(try await shown() == ["one", "two", "line", "three"])
        #expect(try await shown("--level", "warning") == ["two", "line", "three"])
        #expect(try await shown("--level", "warning", "-n", "1") == ["three"])
        #expect(try await shown("--session", "1f3a") == ["one"])
        #expect(try await shown("--session", "1f3", "--level", "error") == ["three"])
        let level = try await relay.command("logs", "--level", "loud")
        #expect(level.exit == .exited(64) && level.errors.joined().contains("debug"), "\(level.errors)")
        let both = try await relay.command("logs", "fake/default", "--level", "info")
        #expect(both.exit == .exited(64) && both.errors.joined().contains("leave out fake/default"), "\(both.errors)")
        let name = try await relay.command("logs", "--session", "workshop")
        #expect(name.exit == .exited(1))
        #expect(name.errors.contains { $0.contains("Give the beginning of the session's id") }, "\(name.errors)")
        let help = try await relay.command("logs", "--help").output.joined(separator: "\n")
        #expect(help.contains("--level") && help.contains("--session") && help.contains("--follow"), "\(help)")
      }
    }
  }
}
