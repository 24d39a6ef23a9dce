import Supervisor
import TestSupport
import Testing

extension EndToEnd {
  /// The chat where a person sits: `script`, which every Debian has, gives it a terminal.
  @Suite struct TerminalTests {
    @Test func `a person who leaves is not told that the daemon is away, and leaves a clean line`() async throws {
      try await RelayFixture.run { relay in
        let chat = Built.executable("pi-relayd") + " chat && echo left"
        let command = try await Command.converse(
          "/usr/bin/script", ["-qec", chat, "/dev/null"],
          environment: [
            "PI_RELAY_HOME": relay.folders.home, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin", "TERM": "xterm",
          ]
        ) { line, type in
          if line.contains("Ctrl-D leaves") { type("/ping") }
          if line.contains("Done by the agent itself") { type("\u{4}") }
        }
        #expect(command.exit == .exited(0))
        #expect(command.output.allSatisfy { !$0.contains("is away") }, "\(command.output)")
        // The line of the prompt is erased before anybody else writes.
        #expect(command.output.last?.hasSuffix("\u{1B}[Jleft") == true, "\(command.output)")
      }
    }
  }
}
