import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayModel
import TestSupport
import Testing

/// Set for the run of tests that is begun by a test, to be killed.
private let victim = "PI_RELAY_TEST_VICTIM"

extension EndToEnd.Operation {
  /// Any end of a run of tests or of a script leaves nothing behind that the run or the script has started.
  @Suite struct RunGuardTests {
    @Test(arguments: [SIGKILL, SIGTERM, SIGINT])
    func `a script that is killed leaves no daemon, agent or plugin behind`(number: Int32) async throws {
      try await RelayFixture.run(startsDaemon: false) { relay in
        let relayd = Built.executable("pi-relayd")
        // A daemon in the background, which leads a session of its own, and an agent at work.
        let script = """
          "\(relayd)" start --detach
          echo "/hang" | "\(relayd)" chat &
          sleep 1000 &
          wait
          """
        try await expectNothingLeft(
          of: relay, number,
          Built.executable("pi-relay-guardian"), ["--", "/bin/sh", "-c", script],
          ["PI_RELAY_HOME": relay.home.path, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin"])
      }
    }

    @Test func `a run of tests that is killed leaves no daemon, agent or plugin behind`() async throws {
      try await RelayFixture.run(startsDaemon: false) { relay in
        try await expectNothingLeft(
          of: relay, SIGKILL, CommandLine.arguments[0],
          ["--testing-library", "swift-testing", "--filter", "a run of tests that waits to be killed"],
          [victim: relay.home.path, "PATH": "/usr/bin:/bin", "HOME": relay.scratch.path])
      }
    }

    /// Not of this run: the test above begins another for it.
    @Test(.enabled(if: ProcessInfo.processInfo.environment[victim] != nil))
    func `a run of tests that waits to be killed`() async throws {
      let home = try #require(ProcessInfo.processInfo.environment[victim])
      let environment = ["PI_RELAY_HOME": home, "PATH": "/usr/bin:/bin", "HOME": home]
      let (_, pipes) = try ChildProcess.spawn(
        .init(name: "daemon", path: Built.executable("pi-relayd"), arguments: ["start"], environment: environment),
        guardian: nil)
      defer { _ = close(pipes.input) }
      _ = try await Command.run(
        "/bin/sh", ["-c", "until \(Built.executable("pi-relayd")) status; do sleep 0.1; done"], environment: environment
      )
      _ = try await Command.run(
        Built.executable("pi-relayd"), ["chat", "/hang"], environment: environment)
    }

    /// Starts a program that starts a daemon, kills it while the daemon's agent is at work, and waits for the end of
    /// all that ran: otherwise the test's time is over.
    private func expectNothingLeft(
      of relay: RelayFixture, _ number: Int32, _ path: String, _ arguments: [String], _ environment: [String: String]
    ) async throws {
      // A run of its own, and not a part of the run that this test is in.
      let (program, pipes) = try ChildProcess.spawn(
        .init(
          name: "run", path: path, arguments: arguments, environment: environment.merging(["PI_RELAY_RUN": ""]) { $1 }),
        guardian: nil)
      defer { for descriptor in [pipes.input, pipes.output, pipes.error] { _ = close(descriptor) } }
      try await waitForFiles(in: relay.home.logs) {
        let log = FileManager.default.contents(atPath: relay.home.daemonLog) ?? Data()
        return String(decoding: log, as: UTF8.self).contains("is ready in")
      }
      let status = try await relay.waitForStatus { status in
        status.sessions.contains { $0.activity == .working } && status.plugins.contains { $0.pid != nil }
      }
      let everyone = [status.pid] + childProcesses(of: status.pid)
      #expect(everyone.count >= 4, "the daemon, its guardian, an agent and a plugin")
      kill(program.pid, number)
      #expect(await program.exit() == .signaled(number))
      for process in everyone { try await waitForEnd(of: process) }
    }
  }
}
