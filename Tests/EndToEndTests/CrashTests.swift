import CLinux
import ControlServer
import FoundationEssentials
import Glibc
import PluginRuntime
import ProcessSupervision
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  @Suite struct CrashTests {
    @Test func `a killed agent loses nothing that was shown and the session continues`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "0")
        _ = await relay.messenger.waitForOutcome(of: "0")
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        let session = try #require(try await relay.status().sessions.first)
        kill(try #require(session.pid), SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        #expect(await relay.messenger.texts(role: .answer).contains { $0.hasPrefix("The quick") })
        await relay.messenger.waitForText("The agent ended unexpectedly (signal 9")
        try await relay.messenger.say("and now?", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        let after = try #require(try await relay.status().sessions.first)
        #expect(after.id == session.id)
        #expect(after.pid != session.pid)
        #expect(after.sessionFile == session.sessionFile)
        #expect(await relay.messenger.texts(role: .answer).count { $0.hasPrefix("The quick") } == 1)
      }
    }

    @Test func `a message that ends the agent twice before it is taken is set aside`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/crash now", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        let texts = await relay.messenger.texts()
        #expect(texts.contains { $0.contains("it is started again") })
        #expect(texts.contains { $0.contains("The agent ended twice") && $0.contains("/crash now") })
        try await relay.messenger.say("fine", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }

    @Test func `waiting messages survive the death of the agent, in order`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("first", id: "2")
        try await relay.messenger.say("second", id: "3")
        kill(try #require(try await relay.status().sessions.first?.pid), SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        let texts = await relay.messenger.texts(role: .answer)
        let first = try #require(texts.firstIndex { $0.hasPrefix("You wrote: first") })
        let second = try #require(texts.firstIndex { $0.hasPrefix("You wrote: second") })
        #expect(first < second)
      }
    }

    @Test func `a killed messenger comes back and the answer is complete, without a repeat`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 40", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.crash("fake/default")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let answers = await relay.messenger.texts(role: .answer)
        #expect(answers.count == 1)
        #expect(answers[0].split(separator: " ").count == 40, "\(answers)")
        try await relay.messenger.say("next", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(try await relay.status().sessions.count == 1)
      }
    }

    @Test func `a send whose answer was lost is marked as a possible repeat when no look-up can tell`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.idempotencyKey = nil
      try await RelayFixture.run(capabilities: capabilities) { relay in
        await relay.messenger.swallowAnswers(1)
        try await relay.messenger.say("hello", id: "1")
        await relay.messenger.waitForText("You wrote: h")
        try await relay.crash("fake/default")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let answers = await relay.messenger.texts(role: .answer)
        #expect(answers.count == 2)
        #expect(answers.count { $0.hasPrefix("(possible repeat)") } == 1, "\(answers)")
      }
    }

    @Test func `the progress of a running tool is removed, also after a failed try`() async throws {
      try await RelayFixture.run { relay in
        await relay.messenger.fail(
          MessageDelete.method, with: [DeliveryFailure.rateLimited(retryAfter: 0.05).wireError])
        try await relay.messenger.say("/tool 900", id: "1")
        await relay.messenger.waitForText("⏳ Running")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("⏳ Running") })
      }
    }

    @Test func `a script learns that the daemon was lost during its message`() async throws {
      try await RelayFixture.run { relay in
        async let said = Command.run(
          Built.executable("pi-relayd"), ["chat"],
          environment: ["PI_RELAY_HOME": relay.home.path, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin"],
          input: "/slow 500\n")
        try await relay.waitForStatus { status in status.sessions.contains { $0.activity == .working } }
        let daemon = try #require(relay.daemon)
        kill(daemon.pid, SIGKILL)
        _ = await daemon.exit()
        try await relay.start()
        let command = try await said
        #expect(command.exit == .exited(1))
        #expect(command.errors.contains { $0.contains("pi-relayd was restarted") }, "\(command.errors)")
      }
    }

    @Test func `a platform that refuses edits still gets the whole answer`() async throws {
      try await RelayFixture.run { relay in
        await relay.messenger.fail(
          "message.edit", with: Array(repeating: DeliveryFailure.forbidden("no edits here").wireError, count: 100))
        try await relay.messenger.say("/slow 20", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let answers = await relay.messenger.texts(role: .answer)
        #expect(answers.map { $0.split(separator: " ").count } == [20], "\(answers)")
      }
    }

    @Test(arguments: [true, false])
    func `a question that the platform refuses is asked as text, and reported if configured`(
      isTold: Bool
    ) async throws {
      let config = RelayFixture.defaultConfig + "\ndelivery: {tellConversations: \(isTold)}\n"
      try await RelayFixture.run(config: config, capabilities: FakeMessenger.withButtons) { relay in
        await relay.messenger.fail("dialog.show", with: [DeliveryFailure.invalid("too many buttons").wireError])
        try await relay.messenger.say("/select", id: "1")
        await relay.messenger.waitForText("Which colour?")
        let texts = await relay.messenger.texts()
        #expect(texts.contains { $0.contains("could not be shown as it should be") } == isTold)
        try await relay.messenger.say("2", id: "2")
        await relay.messenger.waitForText("You answered: Green")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(try await relay.status().deliveries?.first?.lastFailure == "too many buttons")
      }
    }

    @Test func `an answer that ends the formatter twice is set aside, growing or not`() async throws {
      let config = RelayFixture.defaultConfig + "\nplugins: {formatter: {enabled: false}}\n"
      try await RelayFixture.run(config: config) { relay in
        try FakeMessenger.install(Built.executable("misbehaving-child"), as: "\(relay.home.plugins)/x-renderer")
        func restarts() async throws -> Int {
          try await relay.waitForStatus { status in
            status.plugins.contains { $0.name == "x-renderer" && $0.state == .running }
          }.plugins.first { $0.name == "x-renderer" }?.restarts ?? -1
        }
        #expect(try await restarts() == 0)
        try await relay.messenger.say("/slow 40", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer).joined().split(separator: " ").count == 40)
        #expect(try await restarts() == 2)
      }
    }

    @Test func `a killed formatter does not disturb the conversation`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 60", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.crash("formatter")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts(role: .answer).joined(separator: " ").split(separator: " ").count == 60)
      }
    }

    @Test func `without formatter and attachments messages still pass, and a notice says what is missing`() async throws
    {
      try await RelayFixture.run { relay in
        for name in ["formatter", "attachments"] {
          try await relay.waitForStatus { $0.plugins.contains { $0.name == name && $0.state == .running } }
          _ = try await relay.ask(ControlPlugin(name: name, change: .disable))
        }
        await relay.messenger.wait { $0.lastInitialize != nil }
        let spool = try #require(await relay.messenger.lastInitialize?.spoolDir)
        try Data("x".utf8).write(to: URL(filePath: spool + "/1"))
        try await relay.messenger.say(
          "/table", id: "1", attachments: [Attachment(id: "1", name: "notes.txt", path: spool + "/1")])
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say(
          "look", id: "2", attachments: [Attachment(id: "1", name: "notes.txt", path: spool + "/1")])
        await relay.messenger.waitForText("[Not included, because the attachments service is not available: notes.txt]")
      }
    }

    @Test func `kill -9 of the daemon leaves no process but those that detached themselves`() async throws {
      try await RelayFixture.run { relay in
        try FakeMessenger.install(
          Built.executable("misbehaving-child"), as: "\(relay.home.plugins)/x-daemoniser")
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        let status = try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "x-daemoniser" }
            && status.plugins.allSatisfy { $0.state == .running || $0.state == .unconfigured }
        }
        let running = status.plugins.count { $0.state == .running }
        let folder = relay.home.data("x-daemoniser")
        let helper = try pid(in: folder + "/helper.pid")
        let daemonised = try pid(in: folder + "/daemon.pid")
        defer { kill(daemonised, SIGKILL) }
        let daemon = try #require(relay.daemon?.pid)
        let everyone = childProcesses(of: daemon) + [helper]
        #expect(everyone.count >= running + status.sessions.count + 2, "the guardian is among them")
        kill(daemon, SIGKILL)
        for pid in everyone { try await waitForEnd(of: pid) }
        #expect(kill(daemonised, 0) == 0)
      }
    }

    private func pid(in file: String) throws -> Int32 {
      let text = String(decoding: try #require(FileManager.default.contents(atPath: file)), as: UTF8.self)
      return try #require(Int32(text))
    }

    @Test func `an orderly stop leaves no process either, and exits with 0`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        let status = try await relay.status()
        #expect(await relay.stop() == .exited(0))
        for pid in status.plugins.compactMap(\.pid) + status.sessions.compactMap(\.pid) {
          try await waitForEnd(of: pid)
        }
        #expect(!FileManager.default.fileExists(atPath: relay.home.socket))
      }
    }
  }
}
