import Supervisor
import TestSupport
import Testing

extension EndToEnd {
  /// The chat where a person sits: `script`, which every Debian has, gives it a terminal.
  @Suite struct TerminalTests {
    @Test func `a person sees what became of a question`() async throws {
      try await RelayFixture.run { relay in
        let command = try await chat(relay) { line, type in
          if line.contains("Ctrl-D leaves") { type("/select") }
          if line.contains("Reply with a number") { type("2") }
          if line.contains("✔ Which colour? — Green (") { type("\u{4}") }
        }
        #expect(command.exit == .exited(0))
      }
    }

    @Test func `a person who leaves is not told that the daemon is away, and leaves a clean line`() async throws {
      try await RelayFixture.run { relay in
        let command = try await chat(relay) { line, type in
          if line.contains("Ctrl-D leaves") { type("/ping") }
          if line.contains("Done by the agent itself") { type("\u{4}") }
        }
        #expect(command.exit == .exited(0))
        #expect(command.output.allSatisfy { !$0.contains("is away") }, "\(command.output)")
        // The line of the prompt is erased before anybody else writes.
        #expect(command.output.last?.hasSuffix("\u{1B}[Jleft") == true, "\(command.output)")
      }
    }

    private func chat(
      _ relay: RelayFixture, _ answer: @escaping @Sendable (String, (String) -> Void) -> Void
    ) async throws -> Command {
      try await Command.converse(
        "/usr/bin/script", ["-qec", Built.executable("pi-relayd") + " chat && echo left", "/dev/null"],
        environment: [
          "PI_RELAY_HOME": relay.folders.home, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin", "TERM": "xterm",
        ], answer)
    }
  }
}
