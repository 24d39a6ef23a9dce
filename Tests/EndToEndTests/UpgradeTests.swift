import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayModel
import RelayStore
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// Another program takes the daemon's place in the same process.
  @Suite struct UpgradeTests {
    private func upgrade(_ relay: RelayFixture, _ arguments: String...) async throws {
      let done = try await relay.command(["upgrade"] + arguments)
      #expect(done.exit == .exited(0), "\(done.errors) \(relay.log.suffix(10))")
    }

    private func pids(_ status: DaemonStatus) -> [Int32?] {
      // A plugin that is not set up is asked again by each program, and its process may run just now to answer.
      [status.pid] + status.plugins.filter { !["discord", "irc", "slack"].contains($0.name) }.map(\.pid)
        + status.sessions.map(\.pid)
    }

    @Test func `a session's answer continues through an upgrade`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 60 to the end", id: "1")
        await relay.messenger.waitForText("The quick brown")
        try await relay.messenger.say("and this afterwards", id: "2")
        await relay.messenger.waitForText("Queued")
        let before = try await relay.status()
        try await upgrade(relay)
        let after = try await relay.status()
        #expect(pids(after) == pids(before))
        #expect(after.upgrades == 1)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        let answers = await relay.messenger.messages.filter { $0.role == .answer }
        #expect(answers.count == 2)
        #expect(answers.first?.text.hasSuffix("(to the end)") == true)
        #expect(answers.last?.text.hasPrefix("You wrote: and this afterwards") == true)
        #expect(answers.allSatisfy { !$0.isGrowing })
        // Every text was the beginning of the next.
        let texts = try #require(answers.first?.history)
        #expect(zip(texts, texts.dropFirst()).allSatisfy { $1.hasPrefix($0.trimmingSuffix(" ")) })
        #expect(await relay.messenger.generation == 1)
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("restarted") })
      }
    }

    @Test func `an open question is answered after an upgrade, by its old button`() async throws {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        try await relay.messenger.say("/select", id: "1")
        await relay.messenger.waitForText("Which colour?")
        try await upgrade(relay)
        try await upgrade(relay)
        let shown = await relay.messenger.messages.filter { $0.role == .dialog }
        #expect(shown.count == 1)
        let button = try #require(shown.first?.buttons?.first?[1].id)
        try await relay.messenger.press(button, id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("You answered: Green")
      }
    }

    @Test func `half a line before an upgrade is joined with its other half after it`() async throws {
      try await RelayFixture.run { relay in
        let folder = relay.scratch.path
        let script = try relay.scratch.write(
          "halves.sh",
          """
          #!/bin/sh
          read -r line
          id=$(printf '%s' "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')
          printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"name":"halves","version":"1",' "$id"
          printf '"kinds":["service"],"capabilities":{}}}\\n'
          printf '{"jsonrpc":"2.0","id":1,"method":"state.save","params":{"state":{"half'
          : > '\(folder)/half'
          read -r rest < '\(folder)/rest'
          printf '":"whole"}}}\\n'
          read -r answer
          printf '%s' "$answer" > '\(folder)/answer.new'
          mv '\(folder)/answer.new' '\(folder)/answer'
          while read -r line; do :; done
          """ + "\n", executable: true)
        // The script waits there until something opens it for writing.
        #expect(mkfifo(folder + "/rest", 0o600) == 0)
        try FakeMessenger.install(script, as: "\(relay.home.plugins)/halves")
        try await waitForFiles(in: folder) { access(folder + "/half", F_OK) == 0 }
        try await upgrade(relay)
        let rest = open(folder + "/rest", O_WRONLY | O_CLOEXEC)
        close(rest)
        try await waitForFiles(in: folder) { access(folder + "/answer", F_OK) == 0 }
        #expect(relay.scratch.read("answer").contains(#""result""#))
        #expect(try await relay.plugin("halves")?.restarts == 0)
      }
    }

    @Test func `running processes are supervised after an upgrade as before`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await upgrade(relay)
        try await relay.crash("formatter")
        try await relay.crash("fake/default")
        try await relay.messenger.say("/slow 500", id: "2")
        await relay.messenger.waitForText("The quick")
        let agent = try #require(try await relay.status().sessions.first?.pid)
        kill(agent, SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        try await relay.messenger.say("again", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        let status = try await relay.status()
        let children = status.plugins.compactMap(\.pid) + status.sessions.compactMap(\.pid)
        #expect(await relay.stop() == .exited(0))
        for child in children { try await waitForEnd(of: child) }
      }
    }

    @Test func `a daemon killed after an upgrade leaves no process running`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await upgrade(relay)
        let status = try await relay.status()
        let children = status.plugins.compactMap(\.pid) + status.sessions.compactMap(\.pid)
        #expect(children.count >= 4)
        try await relay.killAndStart()
        for child in children { try await waitForEnd(of: child) }
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
      }
    }

    @Test(arguments: [
      ("relative/pi-relayd", "name it by its whole path"), ("/bin/true", "is it a pi-relayd?"),
      ("/bin/false", "would not start"),
    ])
    func `a program that cannot take over is refused, and everything continues`(program: String, why: String)
      async throws
    {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 40", id: "1")
        await relay.messenger.waitForText("The quick")
        let refused = try await relay.command("upgrade", "--program", program)
        #expect(refused.exit == .exited(1))
        #expect(refused.errors.joined().contains(why), "\(refused.errors)")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(try await relay.status().upgrades == 0)
      }
    }

    @Test func `an invalid configuration keeps the running program`() async throws {
      try await RelayFixture.run { relay in
        let path = relay.home.path + "/relay.yaml"
        let text = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
        try Data((text + "\nmachin: {}\n").utf8).write(to: URL(filePath: path))
        let refused = try await relay.command("upgrade")
        #expect(refused.exit == .exited(1))
        #expect(refused.errors.joined().contains("machin"), "\(refused.errors)")
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `a new program that exits at once is followed by a fresh one`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        let real = Built.executable("pi-relayd")
        let program = try relay.scratch.write(
          "broken", "#!/bin/sh\n[ \"$1\" = upgrade-check ] && exec \(real) upgrade-check\nexit 7\n", executable: true)
        let failed = try await relay.command("upgrade", "--program", program)
        #expect(failed.exit == .exited(1))
        #expect(failed.errors.joined().contains("did not take over"), "\(failed.errors)")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        try await relay.messenger.say("hello", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        // It is nobody's child here.
        #expect(try await relay.command("stop").exit == .exited(0))
      }
    }

    @Test func `restart keeps running agents, and starts a daemon that is not running`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 40", id: "1")
        await relay.messenger.waitForText("The quick")
        let before = try await relay.status()
        let done = try await relay.command("restart")
        #expect(done.exit == .exited(0), "\(done.errors)")
        #expect(pids(try await relay.status()) == pids(before))
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `a stop during an upgrade is not forgotten`() async throws {
      try await RelayFixture.run { relay in
        await relay.messenger.swallowAnswers(1)
        try await relay.messenger.say("/help", id: "1")
        await relay.messenger.waitForText("Write to the agent")
        async let upgrade = relay.command("upgrade")
        try await relay.waitForLog("upgrading to")
        #expect(await relay.stop() == .exited(0))
        #expect(try await upgrade.exit != .exited(0))
        #expect(relay.log.last == "stopped")
      }
    }

    @Test func `plugins that exit and sessions that begin while an upgrade waits are started all the same`()
      async throws
    {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "0")
        #expect(await relay.messenger.waitForOutcome(of: "0") == .answered)
        // A send without an answer: this conversation does not come to rest.
        await relay.messenger.swallowAnswers(1)
        try await relay.messenger.say("/help", id: "1")
        await relay.messenger.waitForText("Write to the agent")
        async let upgrade = relay.command("upgrade")
        try await relay.waitForLog("upgrading to")
        try await relay.messenger.say("hello", id: "2", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        // The next process knows the outcome of the send.
        let pid = try #require(try await relay.plugin("fake/default")?.pid)
        kill(pid, SIGKILL)
        let result = try await upgrade
        #expect(result.exit == .exited(0), "\(result.errors)")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .handled)
        #expect(await relay.messenger.texts().count { $0.contains("Write to the agent") } == 1)
      }
    }
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}
