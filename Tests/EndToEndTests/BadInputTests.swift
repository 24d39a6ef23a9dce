import ControlServer
import FoundationEssentials
import Glibc
import PluginRuntime
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// A fault in the daemon's surroundings is reported in one line that names it and the remedy, and nothing else
  /// breaks.
  @Suite struct BadInputTests {
    private let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }

    private func relay(
      _ arguments: [String], home: String? = nil, path: String = "/usr/bin:/bin", input: String = "",
      program: String = Built.executable("pi-relayd")
    ) async throws -> Command {
      try await Command.run(
        program, arguments,
        environment: ["PI_RELAY_HOME": home ?? scratch.path + "/home", "HOME": scratch.path, "PATH": path],
        input: input)
    }

    private func expectRefusal(_ command: Command, _ parts: String..., status: Int32 = 1) {
      #expect(command.exit == .exited(status))
      #expect(command.errors.count == 1, "\(command.errors)")
      for part in parts { #expect(command.errors.first?.contains(part) == true, "\(command.errors)") }
    }

    @Test func `a home that is not a folder, or cannot be made, is named`() async throws {
      let file = try scratch.write("file", "")
      expectRefusal(try await relay(["start"], home: file), "\(file) is not a folder; move it away")
      expectRefusal(try await relay(["start"], home: file + "/home"), "\(file)/home cannot be made", "Not a directory")
      expectRefusal(try await relay(["start"], home: "/proc/pi-relay"), "/proc/pi-relay cannot be made")
    }

    @Test(.enabled(if: geteuid() == 0)) func `a home of another user is refused`() async throws {
      let home = scratch.path + "/theirs"
      mkdir(home, 0o700)
      chown(home, 12_345, 12_345)
      expectRefusal(try await relay(["start"], home: home), "\(home) belongs to another user; set PI_RELAY_HOME")
    }

    @Test func `a home whose path is too long for a socket is served all the same`() async throws {
      let home = scratch.path + "/" + String(repeating: "x", count: 120)
      for arguments in [["start", "--detach"], ["status"], ["stop"]] {
        let done = try await relay(arguments, home: home)
        #expect(done.exit == .exited(0), "\(arguments): \(done.errors)")
      }
    }

    @Test func `a configuration that cannot be read is not treated as missing`() async throws {
      let home = scratch.path + "/home"
      try HomeDirectory(path: home).prepare()
      symlink("relay.yaml", home + "/relay.yaml")
      expectRefusal(try await relay(["start"]), "\(home)/relay.yaml cannot be read", status: 3)
      unlink(home + "/relay.yaml")
      symlink("nowhere", home + "/relay.yaml")
      expectRefusal(try await relay(["start"]), "\(home)/relay.yaml cannot be read", status: 3)
    }

    @Test func `invalid YAML is reported with file, line and column`() async throws {
      let home = scratch.path + "/home"
      try HomeDirectory(path: home).prepare()
      try scratch.write("home/relay.yaml", "messengers:\n  fake: [\n")
      expectRefusal(try await relay(["start"]), "\(home)/relay.yaml:3:1: ", status: 3)
      try scratch.write("home/relay.yaml", "sesions: {}\n")
      expectRefusal(
        try await relay(["start"]), "\(home)/relay.yaml:1:1: unknown key \"sesions\" (did you mean \"sessions\"?)",
        status: 3)
    }

    /// A copy of the daemon with only these programs beside it.
    private func daemon(with programs: [String]) throws -> String {
      let folder = scratch.path + "/bin"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for name in ["pi-relayd", "pi-relay-guardian"] + programs {
        try FileManager.default.copyItem(atPath: Built.executable(name), toPath: "\(folder)/\(name)")
      }
      return folder + "/pi-relayd"
    }

    @Test func `without pi and the demo agent the answer names what is missing`() async throws {
      let said = try await relay(
        ["chat", "--standalone"], input: "hello\n", program: try daemon(with: []))
      #expect(said.exit == .exited(1))
      #expect(
        said.errors.last
          == "❌ there is no agent to run: no pi was found on PATH; install it with: "
          + "npm install -g @earendil-works/pi-coding-agent", "\(said.errors)")
    }

    @Test func `a script of several lines ends when the agent does not start`() async throws {
      let said = try await relay(
        ["chat", "--standalone"], input: "hello\nand more\n", program: try daemon(with: []))
      #expect(said.exit == .exited(1))
      #expect(said.errors.contains { $0.hasPrefix("❌ there is no agent to run") }, "\(said.errors)")
    }

    @Test func `without a guardian nothing is started, because nothing would be cleaned up`() async throws {
      let folder = scratch.path + "/bin"
      let daemon = try daemon(with: [])
      unlink(folder + "/pi-relay-guardian")
      expectRefusal(try await relay(["start"], program: daemon), "pi-relay-guardian")
    }

    private func installPi(_ script: String) throws {
      mkdir(scratch.path + "/pi", 0o700)
      try scratch.write("pi/pi", script, executable: true)
    }

    @Test func `pi without a key is replaced by the demo agent, which says so`() async throws {
      try installPi("#!/bin/sh\nexec \(Built.executable("pi-relay-demo-agent")) --without-key \"$@\"\n")
      let said = try await relay(
        ["chat", "--standalone"], path: "\(scratch.path)/pi:/usr/bin:/bin", input: "hello\n")
      #expect(said.exit == .exited(0))
      #expect(said.errors.contains { $0.contains("\(scratch.path)/pi/pi has no model to use; run pi and type /login") })
      #expect(said.output.contains("You wrote: hello"))
    }

    @Test func `a script gets only the answer on standard output, and one notice of the demo agent`() async throws {
      let first = try await relay(["chat", "--standalone"], input: "hello\n")
      #expect(first.output.first == "You wrote: hello", "\(first.output)")
      #expect(first.errors.contains { $0.hasPrefix("This is the demo agent") }, "\(first.errors)")
      let second = try await relay(["chat", "--standalone"], input: "/new\nhello\n")
      #expect(second.output.first?.hasPrefix("New session") == true, "\(second.output)")
      #expect(second.output.dropFirst().first == "You wrote: hello", "\(second.output)")
      for lines in [first.output, second.output, second.errors] {
        #expect(!lines.contains { $0.hasPrefix("This is the demo agent") }, "\(lines)")
      }
    }

    @Test func `a pi whose interpreter is missing is named, and the demo agent replaces it`() async throws {
      try installPi("#!/no/such/node\n")
      let said = try await relay(
        ["chat", "--standalone"], path: "\(scratch.path)/pi:/usr/bin:/bin", input: "hello\n")
      #expect(said.exit == .exited(0))
      #expect(
        said.errors.contains {
          $0.contains("\(scratch.path)/pi/pi does not run") && $0.contains("/no/such/node")
            && $0.contains("Node.js may be missing")
        }, "\(said.errors)")
    }

    @Test func `a configured pi that is missing is an error, without a demo agent`() async throws {
      try HomeDirectory(path: scratch.path + "/home").prepare()
      try scratch.write("home/relay.yaml", "pi: {executable: /no/such/pi}\n")
      let said = try await relay(["chat", "--standalone"], input: "hello\n")
      #expect(said.exit == .exited(1))
      #expect(said.errors.last == "❌ pi.executable names /no/such/pi, which does not exist; correct relay.yaml")
    }

    @Test func `a plugin that is a folder, a text or lacks its interpreter is named, and the others run`()
      async throws
    {
      try await RelayFixture.run { relay in
        let plugins = relay.home.plugins
        mkdir(plugins + "/x-folder", 0o755)
        try Data("#!/no/such/interpreter\n".utf8).write(to: URL(filePath: plugins + "/x-script.tmp"))
        chmod(plugins + "/x-script.tmp", 0o755)
        rename(plugins + "/x-script.tmp", plugins + "/x-script")
        try Data("just words".utf8).write(to: URL(filePath: plugins + "/x-words"))
        let status = try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "x-script" && $0.problem != nil }
            && status.problems.contains { $0.contains("x-words") }
            && status.problems.contains { $0.contains("x-folder") }
        }
        #expect(status.plugins.first { $0.name == "x-script" }?.problem?.contains("/no/such/interpreter") == true)
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `a stopped terminal delays nothing but its own lines`() async throws {
      let home = HomeDirectory(path: scratch.path + "/home")
      try home.prepare()
      // Each process writes far more than a pipe holds.
      try scratch.write(
        "home/plugins/x-noisy", "#!/bin/sh\nfor i in $(seq 19); do printf '%04000d\\n' $i; done\n", executable: true)
      try scratch.write("home/relay.yaml", "restart: {failingCount: 1000000, firstDelayMilliseconds: 0}\n")
      let (child, pipes) = try ChildProcess.spawn(
        .init(
          name: "pi-relayd", path: Built.executable("pi-relayd"), arguments: ["start"],
          environment: ["PI_RELAY_HOME": home.path, "HOME": scratch.path, "PATH": "/usr/bin:/bin"]), guardian: nil)
      // Standard error is never read.
      var restarts = 0
      while restarts < 100, !Task.isCancelled {
        let status = try await relay(["status", "--json"])
        guard status.exit == .exited(0) else { continue }
        let value = try JSONCoding.decode(JSONValue.self, from: Array(status.output.joined().utf8))
        let noisy = value["plugins"]?.arrayValue?.first { $0["name"] == "x-noisy" }
        restarts = Int(noisy?["restarts"]?.integerValue ?? 0)
      }
      #expect(restarts >= 100)
      kill(child.pid, SIGTERM)
      #expect(await child.exit() == .exited(0))
      for descriptor in [pipes.input, pipes.output, pipes.error] { _ = close(descriptor) }
    }

    @Test func `a restored plugin folder is noticed again`() async throws {
      try await RelayFixture.run { relay in
        let plugins = relay.home.plugins
        try FileManager.default.removeItem(atPath: plugins)
        try await relay.waitForStatus { status in status.problems.contains { $0.contains("cannot be read") } }
        mkdir(plugins, 0o700)
        try FakeMessenger.install(Built.executable("misbehaving-child"), as: "\(plugins)/x-closes")
        try await relay.waitForStatus { status in
          !status.problems.contains { $0.contains("cannot be read") }
            && status.plugins.contains { $0.name == "x-closes" && $0.restarts > 0 }
        }
      }
    }

    @Test func `a disabled plugin is not started by a restart`() async throws {
      try await RelayFixture.run { relay in
        _ = try await relay.ask(ControlPlugin(name: "formatter", change: .disable))
        await #expect(throws: ConnectionError.self) {
          _ = try await relay.ask(ControlPlugin(name: "formatter", change: .restart))
        }
        #expect(try await relay.plugin("formatter")?.state == .disabled)
        _ = try await relay.ask(ControlPlugin(name: "formatter", change: .enable))
        try await relay.waitForStatus { $0.plugins.contains { $0.name == "formatter" && $0.state == .running } }
      }
    }

    @Test
    func `a script's question is cancelled with a notice, its failure has a reason, and silence is a usage error`()
      async throws
    {
      func ask(_ text: String) async throws -> (Command, JSONValue) {
        let said = try await relay(["chat", "--standalone", "--json"], input: text)
        return (said, try JSONCoding.decode(JSONValue.self, from: Array((said.output.first ?? "null").utf8)))
      }
      let (answered, answer) = try await ask("hello\n")
      #expect(answered.exit == .exited(0))
      #expect(answer["outcome"] == "answered" && answer["answer"]?.stringValue?.hasPrefix("You wrote: hello") == true)
      let (asked, question) = try await ask("/confirm\n")
      #expect(asked.exit == .exited(0))
      #expect(question["question"]?.stringValue?.hasPrefix("❓ Clear the cache?") == true)
      #expect(question["answer"] == "You gave no answer.")
      let (failed, failure) = try await ask("/fail\n")
      #expect(failed.exit == .exited(1))
      #expect(failure["outcome"] == "failed" && failure["error"]?.stringValue?.hasPrefix("❌") == true, "\(failure)")
      #expect(try await relay(["chat", "--standalone", "--json"], input: "\n").exit == .exited(64))
    }

    @Test func `setup writes what a messenger needs, leaves the person's file alone, and the result is valid`()
      async throws
    {
      let home = scratch.path + "/home"
      try HomeDirectory(path: home).prepare()
      #expect(try await relay(["setup"]).output.first?.hasPrefix("Installed: discord, irc, slack.") == true)
      expectRefusal(try await relay(["setup", "echo"]), "there is no messenger echo. Installed: discord, irc, slack.")
      try scratch.write("home/plugins/echo", "#!/bin/sh\n", executable: true)
      #expect(try await relay(["setup"]).output.first?.hasPrefix("Installed: discord, echo, irc, slack.") == true)
      let written = try await relay(["setup", "echo", "--user", "a\"b", "--user", "2"])
      #expect(written.exit == .exited(0))
      #expect(try await relay(["config", "check"]).output == ["\(home)/relay.yaml is right."])
      #expect(scratch.read("home/relay.yaml").contains(#"users: ["a\"b", "2"]"#))
      #expect(try await relay(["setup", "echo"]).output.first?.contains("sets up echo already") == true)
      try scratch.write("home/relay.yaml", "machine: {name: x}\n")
      let advice = try await relay(["setup", "echo"]).output
      #expect(advice.first?.contains("nothing was changed") == true)
      #expect(scratch.read("home/relay.yaml") == "machine: {name: x}\n")
      try scratch.write("home/relay.yaml", "messengers:\n" + advice.dropFirst(2).joined(separator: "\n") + "\n")
      #expect(try await relay(["config", "check"]).exit == .exited(0))
    }

    @Test func `a disk that is full for logs is reported, and everything else continues`() async throws {
      try await RelayFixture.run { relay in
        for name in ["x-floods", "pi-relayd"] {
          unlink(relay.home.log(name))
          symlink("/dev/full", relay.home.log(name))
        }
        try FakeMessenger.install(Built.executable("misbehaving-child"), as: "\(relay.home.plugins)/x-floods")
        // 10 MB of log that nothing takes must not hold the plugin up.
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "x-floods" && $0.state == .running }
        }
        try await relay.waitForLog(
          "\(relay.home.log("x-floods")) cannot be written: No space left on device; free space")
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }
  }
}
