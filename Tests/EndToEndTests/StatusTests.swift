import ControlServer
import ProcessSupervision
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// The output of `pi-relayd status` for an operator.
  @Suite struct StatusTests {
    private static let config = """
      machine: {name: workshop}
      messengers:
        fake:
          default:
            auth: {users: [u1]}
            channels: ["123"]
            conversations:
              "456": {use: control}
      """

    @Test func `status lists the machine, its channels and who talks to which session`() async throws {
      try await RelayFixture.run(config: Self.config) { relay in
        try await relay.messenger.say("hello", id: "1", in: "c7")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        _ = try await relay.messenger.say("/name kept", id: "2", in: "c7")
        _ = await relay.messenger.waitForOutcome(of: "2")
        func rows(of section: String) async throws -> [[Substring]] {
          let lines = try await relay.command("status").output
          let first = try #require(lines.firstIndex(of: "\(section):"), "\(lines)")
          return lines[(first + 1)...].prefix { $0.hasPrefix("  ") }.map { $0.split(separator: " ") }
        }
        #expect(try await relay.command("status").output.first?.contains(" on workshop, pid ") == true)
        #expect(
          try await rows(of: "Channels") == [
            ["fake/default", "123", "use:", "main"], ["fake/default", "456", "use:", "control"],
          ])
        #expect(try await rows(of: "Conversations") == [["fake/default", "dm", "c7", "session", "kept"]])
        let problems = try await relay.status().problems
        #expect(problems.allSatisfy { $0.contains("fake.socket") }, "\(problems)")
        // Its messenger is stopped.
        #expect(try await relay.command("plugins", "disable", "fake/default").exit == .exited(0))
        #expect(
          try await rows(of: "Conversations") == [["fake/default", "dm", "c7", "session", "kept", "not", "connected"]])
      }
    }

    @Test func `a disabled plugin stays disabled over a start, as its help says`() async throws {
      try await RelayFixture.run { relay in
        let help = try await relay.command("plugins", "disable", "--help").output.joined(separator: " ")
        #expect(help.contains("after a start of the daemon too"), "\(help)")
        #expect(try await relay.command("plugins", "disable", "fake/default").exit == .exited(0))
        try await relay.killAndStart()
        #expect(try await relay.plugin("fake/default")?.state == .disabled)
      }
    }

    @Test func `the log counts in milliseconds and seconds`() async throws {
      try await RelayFixture.run { relay in
        // The second end within a while is what is waited for.
        try await relay.crash("fake/default")
        try await relay.crash("fake/default")
        let lines = relay.log.filter { $0.contains("started again") }
        #expect(lines.count == 2)
        for line in lines { #expect(line.contains(/started again (at once|in \d+(\.\d)? m?s)$/), "\(line)") }
      }
    }
  }
}
