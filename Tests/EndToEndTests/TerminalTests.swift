import ControlServer
import ProcessSupervision
import RelayConcurrency
import RelayHome
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// The chat where a person sits: `script`, which every Debian has, gives it a terminal.
  @Suite struct TerminalTests {
    @Test func `a person sees the answer to a question`() async throws {
      try await RelayFixture.run { relay in
        let command = try await chat(relay) { line, type in
          if line.contains("Ctrl-D leaves") { type("/select") }
          if line.contains("Reply with a number") { type("2") }
          if line.contains("✔ Which colour? — Green (") { type("\u{4}") }
        }
        #expect(command.exit == .exited(0))
      }
    }

    @Test func `a person who leaves gets no notice about the daemon, and a clean line`() async throws {
      try await RelayFixture.run { relay in
        let command = try await chat(relay) { line, type in
          if line.contains("Ctrl-D leaves") { type("/ping") }
          if line.contains("The agent gave no answer") { type("\u{4}") }
        }
        #expect(command.exit == .exited(0))
        #expect(command.output.allSatisfy { !$0.contains("is away") }, "\(command.output)")
        // The line of the prompt is erased before anybody else writes.
        #expect(command.output.last?.hasSuffix("\u{1B}[Jleft") == true, "\(command.output)")
        // The daemon does not wait for a terminal that has left before it heard that its last message was shown.
        #expect(await relay.stop() == .exited(0))
        #expect(relay.log.allSatisfy { !$0.contains("not everything could be said") }, "\(relay.log)")
      }
    }

    @Test(arguments: ["/quit", "/exit "]) func `a person leaves with a command as well`(farewell: String) async throws {
      try await RelayFixture.run { relay in
        let command = try await chat(relay) { line, type in
          if line.contains("/quit or Ctrl-D leaves") { type(farewell) }
        }
        #expect(command.exit == .exited(0))
        #expect(command.output.last?.hasSuffix("left") == true, "\(command.output)")
        // The agent was given nothing.
        #expect(try await relay.status().sessions.isEmpty)
      }
    }

    @Test func `an answer's Markdown is laid out, and plain without styles`() async throws {
      try await RelayFixture.run { relay in
        let styled = try await answer(to: "**bold** `code`", relay)
        #expect(styled.contains("You wrote: \u{1B}[1mbold\u{1B}[0m \u{1B}[36mcode\u{1B}[0m"), "\(styled)")
        let plain = try await answer(to: "**bold** `code`", relay, environment: ["NO_COLOR": "1"])
        #expect(plain.contains("You wrote: **bold** `code`"), "\(plain)")
        // Standard output is a pipe.
        let piped = try await relay.command("chat", "**bold** `code`").output
        #expect(piped.contains("You wrote: **bold** `code`"), "\(piped)")
      }
    }

    @Test func `the agent's text cannot send commands to the terminal`() async throws {
      let evil = "\u{1B}]0;title\u{07}\u{1B}[2J\u{9B}31m&#27;[31m red"
      try await RelayFixture.run { relay in
        for environment in [[:], ["NO_COLOR": "1"]] {
          let shown = try await answer(to: evil, relay, environment: environment)
          let line = try #require(shown.first { $0.hasPrefix("You wrote: ") }, "\(shown)")
          let controls = line.unicodeScalars.filter { $0.properties.generalCategory == .control && $0 != "\r" }
          #expect(controls.isEmpty, "\(line.debugDescription)")
          #expect(line.contains("red"))
        }
        let piped = try await relay.command("chat", evil).output.joined()
        #expect(piped.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "\(piped)")
      }
    }

    @Test func `a growing answer continues below an interruption`() async throws {
      try await RelayFixture.run { relay in
        let lines = Locked<[String]>([])
        let command = try await chat(relay) { line, type in
          let before = lines.withLock { lines in
            defer { lines.append(line) }
            return lines
          }
          func isFirst(_ words: String) -> Bool { line.contains(words) && !before.contains { $0.contains(words) } }
          if isFirst("Ctrl-D leaves") { type("/slow 40") }
          if isFirst("The quick brown") { type("/status") }
          // The line that was growing is shown whole, below the notice.
          if before.contains(where: { $0.contains("Model:") }), isFirst("keeps every") { type("\u{4}") }
        }
        #expect(command.exit == .exited(0))
      }
    }

    @Test func `a person who leaves a daemon that the chat has started is told how to stop it`() async throws {
      try await RelayFixture.run(startsDaemon: false) { relay in
        let command = try await chat(relay) { line, type in if line.contains("Ctrl-D leaves") { type("\u{4}") } }
        let hint = try #require(
          command.output.first { $0.contains("keeps running in the background") }, "\(command.output)")
        let words = hint.split(separator: "Stop it with: ").last.map(String.init) ?? ""
        let ended = try await Command.run(
          "/bin/sh", ["-c", words], environment: ["HOME": relay.scratch.path, "PATH": "/usr/bin:/bin"])
        #expect(ended.output.last == "pi-relayd has stopped.", "\(words): \(ended.errors)")
        // The chat says nothing about a daemon that ran before it.
        try await relay.start()
        let second = try await chat(relay) { line, type in if line.contains("Ctrl-D leaves") { type("\u{4}") } }
        #expect(second.output.allSatisfy { !$0.contains("keeps running") }, "\(second.output)")
      }
    }

    @Test func `a daemon that a chat has started for itself ends with it, unless another client uses it`() async throws
    {
      try await RelayFixture.run(config: "", startsDaemon: false) { relay in
        let first = try await relay.command("chat", "--stop-daemon", "hello")
        #expect(first.output.contains { $0.hasPrefix("You wrote: hello") })
        #expect(first.errors == [])
        #expect(try await relay.command("status").exit == .exited(2))
      }
      // The configured messenger needs it.
      try await RelayFixture.run(startsDaemon: false) { relay in
        let first = try await relay.command("chat", "--stop-daemon", "hello")
        #expect(first.errors.contains { $0.contains("keeps running in the background") }, "\(first.errors)")
        #expect(try await relay.command("stop").exit == .exited(0))
      }
    }

    /// Returns the lines that a terminal is shown of a message said on the command line.
    private func answer(
      to message: String, _ relay: RelayFixture, environment: [String: String] = [:]
    ) async throws -> [String] {
      let command = try await Command.run(
        "/usr/bin/script", ["-qec", Built.executable("pi-relayd") + " chat \"$MESSAGE\"", "/dev/null"],
        environment: Self.environment(relay).merging(environment.merging(["MESSAGE": message]) { $1 }) { $1 })
      return command.output.map { $0.hasSuffix("\r") ? String($0.dropLast()) : $0 }
    }

    private static func environment(_ relay: RelayFixture) -> [String: String] {
      ["PI_RELAY_HOME": relay.home.path, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin", "TERM": "xterm"]
    }

    private func chat(
      _ relay: RelayFixture, _ answer: @escaping @Sendable (String, (String) -> Void) -> Void
    ) async throws -> Command {
      try await Command.converse(
        "/usr/bin/script", ["-qec", Built.executable("pi-relayd") + " chat && echo left", "/dev/null"],
        environment: Self.environment(relay), answer)
    }
  }
}
