import ControlServer
import FoundationEssentials
import Glibc
import PluginConformance
import ProcessSupervision
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  @Suite struct PluginTests {
    private func problem(_ relay: RelayFixture, _ name: String, _ expected: String) async throws {
      try await relay.waitForStatus { status in
        status.plugins.contains { $0.name == name && $0.problem?.contains(expected) == true }
      }
    }

    private func pid(_ name: String, _ status: DaemonStatus) -> Int32? {
      status.plugins.first { $0.name == name }?.pid
    }

    private func drop(_ kind: String, into relay: RelayFixture) throws {
      try FakeMessenger.install(Built.executable("misbehaving-child"), as: "\(relay.home.plugins)/x-\(kind)")
    }

    @Test func `services that nobody needs sleep, and wake when they are needed`() async throws {
      try await RelayFixture.run { relay in
        let services = ["formatter", "attachments"]
        try await relay.waitForStatus { status in
          services.allSatisfy { name in status.plugins.contains { $0.name == name && $0.state == .asleep } }
        }
        let spool = await relay.messenger.lastInitialize?.spoolDir ?? ""
        try Data("what is in the file".utf8).write(to: URL(filePath: spool + "/1"))
        try await relay.messenger.say(
          "look", id: "1", attachments: [Attachment(id: "1", name: "notes.txt", path: spool + "/1")])
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer).contains { $0.contains("what is in the file") })
        try await relay.messenger.say("/table", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        // Drawn as only the formatter draws it.
        #expect(await relay.messenger.texts(role: .answer).contains { !$0.contains("|------|") && $0.contains("中継") })
        #expect(try await relay.status().plugins.allSatisfy { $0.restarts == 0 })
      }
    }

    @Test func `a plugin that is put into the folder runs, and one that is taken out stops`() async throws {
      try await RelayFixture.run { relay in
        try drop("floods", into: relay)
        let running = try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "x-floods" && $0.state == .running }
        }
        let pid = try #require(running.plugins.first { $0.name == "x-floods" }?.pid)
        #expect(unlink("\(relay.home.plugins)/x-floods") == 0)
        try await relay.waitForStatus { status in !status.plugins.contains { $0.name == "x-floods" } }
        try await waitForEnd(of: pid)
      }
    }

    @Test func `ten megabytes of log before the handshake block nothing and are all stored`() async throws {
      try await RelayFixture.run { relay in
        try drop("floods", into: relay)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "x-floods" && $0.state == .running }
        }
        func lines() -> Int {
          ["", ".1", ".2", ".3"].reduce(0) { sum, suffix in
            let data = FileManager.default.contents(atPath: relay.home.log("x-floods") + suffix) ?? Data()
            return sum + data.count { $0 == 0x0A }
          }
        }
        // The log is written after the pipe was read: all of it has to arrive.
        try await waitForFiles(in: relay.home.logs) { lines() >= 100_000 }
        #expect(lines() == 100_000)
      }
    }

    @Test func `junk before the handshake, an exit and a closed output are named, and other plugins continue`()
      async throws
    {
      try await RelayFixture.run { relay in
        for kind in ["junk", "exits", "closes"] { try drop(kind, into: relay) }
        try await problem(relay, "x-junk", "\"Loading plugins...\" on standard output before the handshake")
        try await problem(
          relay, "x-exits", "it ended with exit code 3 before the handshake; the last line of its log: no reason at all"
        )
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "x-closes" && $0.restarts > 0 }
        }
        try await relay.waitForLog("x-closes: it closed its standard output, and was stopped")
        #expect(relay.log.allSatisfy { !$0.contains("ended") || $0.contains("x-exits: ") }, "\(relay.log)")
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(try await relay.plugin("fake/default")?.restarts == 0)
      }
    }

    @Test func `replacing one plugin under load leaves the others' sequences unbroken`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 40", id: "1")
        await relay.messenger.waitForText("The quick")
        let before = try await relay.waitForStatus { status in
          ["formatter", "attachments"].allSatisfy { name in
            status.plugins.contains { $0.name == name && $0.state == .running }
          }
        }
        // The same program under the same name is a new file all the same.
        try FakeMessenger.install(Built.executable("pi-relay-formatter"), as: "\(relay.home.plugins)/formatter")
        let after = try await relay.waitForStatus { status in
          status.plugins.contains {
            $0.name == "formatter" && $0.state == .running && $0.pid != pid("formatter", before)
          }
        }
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(pid("formatter", before) != pid("formatter", after))
        #expect(pid("attachments", before) == pid("attachments", after))
        #expect(pid("fake/default", before) == pid("fake/default", after))
        #expect(await relay.messenger.texts(role: .answer).joined(separator: " ").split(separator: " ").count == 40)
      }
    }

    @Test func `a new configuration is applied without disturbing unaffected plugins`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        let before = try await relay.status()
        let path = relay.home.path + "/relay.yaml"
        let text = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
        try Data((text + "\nplugins: {attachments: {imageMegabytes: 5}}\n").utf8).write(to: URL(filePath: path))
        kill(try #require(relay.daemon?.pid), SIGHUP)
        let after = try await relay.waitForStatus { status in
          let new = status.plugins.first { $0.name == "attachments" }
          return new?.state == .running && new?.pid != before.plugins.first { $0.name == "attachments" }?.pid
        }
        #expect(after.sessions.first?.pid == before.sessions.first?.pid)
        for name in ["formatter", "fake/default"] {
          #expect(
            after.plugins.first { $0.name == name }?.pid == before.plugins.first { $0.name == name }?.pid, "\(name)")
        }
        try Data((text + "\nnonsense: 1\n").utf8).write(to: URL(filePath: path))
        let problems = try await relay.ask(ControlReload()).problems
        #expect(problems.count == 1 && problems[0].hasSuffix("unknown key \"nonsense\""))
        try await relay.messenger.say("still here", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }

    @Test func `a plugin's error about its settings names the line`() async throws {
      let config = RelayFixture.defaultConfig + "\nplugins:\n  attachments:\n    imageMegabytes: 5000\n"
      try await RelayFixture.run(config: config) { relay in
        let text = try #require(FileManager.default.contents(atPath: relay.home.path + "/relay.yaml"))
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let line = try #require(lines.firstIndex { $0.contains("imageMegabytes") }) + 1
        try await problem(relay, "attachments", "relay.yaml:\(line):21: imageMegabytes must be from 1 to 100")
      }
    }

    @Test func `a problem that keeps a running plugin from its work is shown until it is over`() async throws {
      try await RelayFixture.run { relay in
        let problem = "the platform refuses the token;\u{7} copy it again"
        _ = try await relay.messenger.request(ProblemReport(problem: problem))
        let shown = "the platform refuses the token; copy it again"
        func isShown(_ status: DaemonStatus) -> Bool {
          status.plugins.contains { $0.name == "fake/default" && $0.state == .running && $0.problem == shown }
        }
        // The messenger may report before the daemon has noted that it runs.
        _ = try await relay.waitForStatus(isShown)
        let lines = try await relay.command("status").output
        #expect(
          lines.contains { $0.contains("fake/default") && $0.contains("impaired") && $0.contains(shown) }, "\(lines)")
        #expect(relay.log.contains { $0.contains("fake/default: \(shown)") })
        #expect(try await relay.command("plugins").output.contains { $0.contains("impaired") })
        let doctor = try await relay.command("doctor")
        #expect(doctor.exit == .exited(1) && doctor.output.contains { $0.contains(shown) }, "\(doctor.output)")
        // The next program knows it, too.
        #expect(try await relay.command("upgrade").exit == .exited(0))
        #expect(isShown(try await relay.status()))
        _ = try await relay.messenger.request(ProblemReport(problem: nil))
        let messenger = try await relay.status().plugins.first { $0.name == "fake/default" }
        #expect(messenger?.state == .running && messenger?.problem == nil)
        // A problem that a plugin has reported is forgotten when its process ends.
        _ = try await relay.messenger.request(ProblemReport(problem: problem))
        #expect(try await relay.command("plugins", "restart", "fake/default").exit == .exited(0))
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "fake/default" && $0.state == .running && $0.problem == nil }
        }
      }
    }

    @Test func `a service that names a file outside its folder is not trusted, with a notice`() async throws {
      let liar = """
        #!/usr/bin/env python3
        import json, sys
        for line in sys.stdin:
            request = json.loads(line)
            if request["method"] == "initialize":
                result = {"protocolVersion": 1, "name": "liar", "version": "1", "kinds": ["service"],
                          "capabilities": {"services": ["attachments.prepare"]}}
            else:
                result = {"images": [{"name": "a", "mime": "image/png", "base64Path": "/etc/passwd"}], "text": ""}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
        """
      try await RelayFixture.run { relay in
        let script = try relay.scratch.write("liar", liar, executable: true)
        try FakeMessenger.install(script, as: "\(relay.home.plugins)/attachments")
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "attachments" && $0.state == .running && $0.version == "1" }
        }
        let spool = await relay.messenger.lastInitialize?.spoolDir ?? ""
        try Data("words".utf8).write(to: URL(filePath: spool + "/1"))
        try await relay.messenger.say(
          "look", id: "1", attachments: [Attachment(id: "1", name: "notes.txt", path: spool + "/1")])
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let problem = "the attachments service named a file outside its folder"
        await relay.messenger.waitForText("[Not included, because \(problem): notes.txt]")
        try await relay.waitForLog("attachments.prepare: \(problem)")
      }
    }

    @Test func `a home has one daemon only`() async throws {
      try await RelayFixture.run { relay in
        let (second, pipes) = try ChildProcess.spawn(
          .init(
            name: "second", path: Built.executable("pi-relayd"), arguments: ["start"],
            environment: ["PI_RELAY_HOME": relay.home.path, "PATH": "/usr/bin:/bin"]),
          guardian: nil)
        for descriptor in [pipes.input, pipes.output, pipes.error] { _ = close(descriptor) }
        #expect(await second.exit() == .exited(1))
        #expect(try await relay.status().pid == relay.daemon?.pid)
      }
    }
  }
}
