import CLinux
import ControlServer
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayTransport
import RelayWire
import TestSupport
import Testing

extension EndToEnd {
  /// Errors of commands: each names the cause and the next step.
  @Suite struct CommandLineTests {
    private let scratch: TemporaryFolder
    private let home: HomeDirectory

    init() throws {
      scratch = try TemporaryFolder()
      home = HomeDirectory(path: scratch.path + "/home")
      try home.prepare()
    }

    private func relay(_ arguments: String...) async throws -> Command {
      try await Command.run(
        Built.executable("pi-relayd"), arguments,
        environment: ["PI_RELAY_HOME": home.path, "HOME": scratch.path, "PATH": "/usr/bin:/bin"])
    }

    private func expectError(
      _ command: Command, _ text: String, status: Int32 = 1, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      #expect(command.exit == .exited(status), sourceLocation: sourceLocation)
      #expect(command.errors.joined(separator: "\n") == text, sourceLocation: sourceLocation)
    }

    @Test func `a wrong option of the set-up is named`() async throws {
      expectError(
        try await relay("setup", "discord", "--set", "x"), "pi-relayd: --set \"x\" is not of the form NAME=VALUE")
      expectError(
        try await relay("setup", "discord", "--from-file", "token"),
        "pi-relayd: --from-file \"token\" is not of the form NAME=PATH")
      expectError(
        try await relay("setup", "discord", "--from-file", "token=/no/such"),
        "pi-relayd: --from-file token=/no/such: /no/such cannot be read: No such file or directory")
    }

    @Test func `a file that cannot be read is named with the reason`() async throws {
      expectError(
        try await relay("config", "check", "/no/such"),
        "pi-relayd: /no/such cannot be read: No such file or directory", status: 3)
      expectError(
        try await relay("plugins", "check", "/bin/true", "--config", "/no/such"),
        "pi-relayd: --config /no/such cannot be read: No such file or directory")
    }

    @Test func `before the first start, logs says how the log is made`() async throws {
      let program = Built.executable("pi-relayd")
      expectError(
        try await relay("logs"),
        "pi-relayd: there is no log \(home.daemonLog). The first start of the daemon makes it: "
          + "PI_RELAY_HOME=\(home.path) \(program) start")
      try scratch.write("home/logs/formatter.log", "")
      expectError(
        try await relay("logs", "nope"), "pi-relayd: there is no log \(home.log("nope")). Logs there are: formatter")
    }

    @Test func `a wrong configuration ends every start with its place and the exit code for it`() async throws {
      try scratch.write("home/relay.yaml", "pi: {modle: x}\n")
      let problem = "\(home.path)/relay.yaml:1:6: unknown key \"modle\" in pi (did you mean \"model\"?)"
      expectError(try await relay("start"), "pi-relayd: \(problem)", status: 3)
      expectError(try await relay("chat", "--standalone", "hello"), "pi-relayd: \(problem)", status: 3)
      for arguments in [["start", "--detach"], ["chat", "hello"], ["restart"]] {
        let command = try await Command.run(
          Built.executable("pi-relayd"), arguments, environment: ["PI_RELAY_HOME": home.path, "HOME": scratch.path])
        expectError(command, "pi-relayd did not start:\n  pi-relayd: \(problem)", status: 3)
      }
    }

    @Test func `a chat without words starts no daemon`() async throws {
      expectError(
        try await relay("chat", "--json"),
        "pi-relayd: there is nothing to say; give a message, or write it to standard input", status: 64)
      #expect(!DaemonLock.isHeld(home))
    }

    @Test func `a script's command that the agent fails on is an error, and the lines after it are still said`()
      async throws
    {
      try await RelayFixture.run { relay in
        for (line, error) in [
          ("/fail", "❌ The model is overloaded"),
          ("/ping fail", "❌ The agent's command /ping failed: no pong, as asked"),
        ] {
          let said = try await Command.run(
            Built.executable("pi-relayd"), ["chat"],
            environment: ["PI_RELAY_HOME": relay.home.path, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin"],
            input: "\(line)\n/ping\n")
          #expect(said.exit == .exited(1))
          #expect(said.errors.contains { $0.hasPrefix(error) }, "\(said.errors)")
          #expect(said.output == ["ℹ️ pong", "✓ Done. The agent gave no answer."], "\(said.output)")
        }
      }
    }

    @Test func `a second start and a restart that fails say so in their own words`() async throws {
      try await RelayFixture.run { relay in
        let pid = try await relay.status().pid
        let problem =
          "pi-relayd: a pi-relayd runs already for \(relay.home.path) (pid \(pid)); pi-relayd status shows it, "
          + "pi-relayd stop ends it"
        expectError(try await relay.command("start"), problem)
        expectError(try await relay.command("start", "--detach"), problem)
        try relay.scratch.write("home/relay.yaml", "pi: {x: 1}\n")
        let restart = try await relay.command("restart")
        #expect(restart.errors.first?.hasPrefix("pi-relayd: not restarted: ") == true, "\(restart.errors)")
        let upgrade = try await relay.command("upgrade")
        #expect(upgrade.errors.first?.hasPrefix("pi-relayd: not upgraded: ") == true, "\(upgrade.errors)")
      }
    }

    @Test func `a daemon that hangs is not waited for without limit, and the error names its process`() async throws {
      try await RelayFixture.run { relay in
        let pid = try await relay.status().pid
        kill(pid, SIGSTOP)
        let stop = try await relay.command("stop", "--timeout", "1")
        kill(pid, SIGCONT)
        expectError(
          stop,
          "pi-relayd: the daemon (pid \(pid)) has not stopped within 1 s. Its log: \(relay.home.daemonLog). "
            + "Wait longer with: PI_RELAY_HOME=\(relay.home.path) \(Built.executable("pi-relayd")) stop --timeout 600. "
            + "If it hangs, end it with: kill -9 \(pid)")
      }
      let wrong = try await relay("stop", "--timeout", "0")
      #expect(wrong.exit == .exited(64))
      #expect(wrong.errors.first == "Error: --timeout is a number of seconds, at least 1", "\(wrong.errors)")
    }

    @Test func `a daemon of another version is told, with the way to replace it`() async throws {
      let upgrade = "PI_RELAY_HOME=\(home.path) \(Built.executable("pi-relayd")) upgrade"
      for (answer, detail) in [
        (ForeignDaemon.Answer.unknownMethod, "there is no method control.status"),
        (.empty, "the answer to control.status cannot be understood: "),
      ] {
        let daemon = try ForeignDaemon(home.socket, answer)
        let status = try await relay("status")
        daemon.close()
        #expect(status.exit == .exited(1))
        let error = status.errors.joined(separator: "\n")
        #expect(
          error.hasPrefix(
            "pi-relayd: the daemon that runs is of another version than this command, which is \(Product.version) (")
            && error.contains(detail) && error.hasSuffix("Replace it with: \(upgrade)"), "\(error)")
      }
    }
  }
}

/// A control socket whose daemon speaks another version of the protocol.
private final class ForeignDaemon: Sendable {
  enum Answer { case unknownMethod, empty }

  private let descriptor: Int32
  private let token = Locked<EventLoop.Token?>(nil)

  init(_ socket: String, _ answer: Answer) throws {
    descriptor = relay_listen_unix(socket)
    guard descriptor >= 0 else { throw SystemError("listen", code: -descriptor) }
    let watch = try EventLoop.shared.watch(descriptor, .read) { [descriptor] _ in
      let connection = relay_accept(descriptor)
      guard connection >= 0 else { return }
      let peer = JSONRPCConnection(input: connection, output: fcntl(connection, F_DUPFD_CLOEXEC, 3))
      guard (try? peer.start()) != nil else { return }
      Task {
        for await request in peer.requests {
          switch answer {
          case .unknownMethod: request.fail(WireError(.methodNotFound, "there is no method \(request.method)"))
          case .empty: request.reply(Empty())
          }
        }
      }
    }
    token.withLock { $0 = watch }
  }

  func close() {
    token.withLock { token in
      if let token { EventLoop.shared.close(token, descriptor) }
      token = nil
    }
  }
}
