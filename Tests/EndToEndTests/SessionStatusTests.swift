import ControlServer
import FoundationEssentials
import ProcessSupervision
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// The state of a session as people are shown it: by `/status`, and by the bot's activity.
  @Suite struct SessionStatusTests {
    private static func say(_ text: String, id: String, in place: String = "c1", at relay: RelayFixture) async throws {
      try await relay.messenger.say(text, id: id, in: place)
      _ = await relay.messenger.waitForOutcome(of: id)
    }

    private static func status(_ id: String, at relay: RelayFixture) async throws -> [String] {
      try await say("/status", id: id, at: relay)
      return await relay.messenger.texts().last?.split(separator: "\n").map(String.init) ?? []
    }

    @Test func `the status shows the agent's figures and the changes in the session's repository`()
      async throws
    {
      try await RelayFixture.run(sessions: "roots: [/tmp]") { relay in
        let folder = relay.scratch.path + "/repository"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let made = try await Command.run("/usr/bin/git", ["init", "-q", "-b", "topic", folder], environment: [:])
        #expect(made.exit == .exited(0))
        try await Self.say("/new work --in \(folder)", id: "1", at: relay)
        #expect(try await Self.status("2", at: relay).contains("Branch: topic, clean"))
        try await Self.say("hello", id: "3", at: relay)
        for name in ["a", "b"] { try Data().write(to: URL(filePath: "\(folder)/\(name)")) }
        let status = try await Self.status("4", at: relay)
        #expect(status.contains("Branch: topic, 2 uncommitted changes"))
        #expect(status.contains("Model: Demo (thinking: off)"))
        #expect(status.contains { $0.hasPrefix("Context: ") && $0.contains(" of 128k tokens (0.") }, "\(status)")
        #expect(status.contains { $0.hasPrefix("Tokens: ") && $0.hasSuffix(" out; cost $0") }, "\(status)")
        try await relay.messenger.say("/slow 60", id: "5")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("later", id: "6")
        await relay.messenger.waitForText("Queued")
        #expect(try await Self.status("7", at: relay).first == "work: working, 1 waiting")
      }
    }

    @Test func `a sleeping session shows its model after a restart of the daemon`() async throws {
      try await RelayFixture.run { relay in
        try await Self.say("hello", id: "1", at: relay)
        try await relay.killAndStart()
        #expect(try await Self.status("2", at: relay).contains("Model: Demo"))
        #expect(try await relay.status().sessions.map(\.model) == ["Demo"])
        #expect(try await Self.status("2a", at: relay).first?.hasSuffix(": asleep") == true)
        let listed = try await relay.command("status").output
        #expect(listed.contains { $0.contains(" asleep ") && $0.contains(" Demo ") }, "\(listed)")
        #expect(try await relay.status().sessions.compactMap(\.pid).isEmpty, "it was not woken for this")
        try await Self.say("/model text-only", id: "3", at: relay)
        #expect(try await Self.status("4", at: relay).contains("Model: text-only"))
      }
    }

    @Test func `the bot's activity follows name, model, wake and close of one session only`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.presence = true
      try await RelayFixture.run(capabilities: capabilities) { relay in
        func expectActivity(_ text: String?) async { await relay.messenger.wait { $0.presences.last == .some(text) } }
        try await Self.say("/new alpha", id: "1", at: relay)
        await expectActivity("alpha")
        try await Self.say("hello", id: "2", at: relay)
        await expectActivity("alpha (Demo)")
        try await Self.say("/name beta", id: "3", at: relay)
        await expectActivity("beta (Demo)")
        try await Self.say("/model other", id: "4", at: relay)
        await expectActivity("beta (other)")
        try await Self.say("/new gamma", id: "5", in: "c2", at: relay)
        await expectActivity("2 sessions")
        try await Self.say("/use beta", id: "6", in: "c2", at: relay)
        await expectActivity("beta (other)")
        try await relay.crash("fake/default")
        await relay.messenger.wait { $0.generation == 2 && $0.presences.suffix(1) == ["beta (other)"] }
        try await relay.killAndStart()
        await relay.messenger.wait { $0.generation == 3 && $0.presences.suffix(1) == ["beta (other)"] }
        try await Self.say("/close", id: "7", at: relay)
        await expectActivity(nil)
      }
    }

    @Test func `a secret in a session's name or model does not show in the bot's activity`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.presence = true
      let config = RelayFixture.defaultConfig + "\ndelivery: {redact: ['ACME-[0-9]{6}']}\n"
      try await RelayFixture.run(config: config, capabilities: capabilities) { relay in
        try await Self.say("/new ACME-123456", id: "1", at: relay)
        await relay.messenger.wait { $0.presences.last == .some("[redacted]") }
        try await Self.say("hello", id: "2", at: relay)
        try await Self.say("/model ACME-654321", id: "3", at: relay)
        await relay.messenger.wait { $0.presences.last == .some("[redacted] ([redacted])") }
        #expect(await relay.messenger.presences.allSatisfy { $0?.contains("ACME") != true })
      }
    }
  }
}
