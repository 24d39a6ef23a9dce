import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Tool calls of the demo agent, which asks the daemon as the extension of pi does.
  @Suite struct DemoApprovalTests {
    private static let rules = """
      approvals: {enabled: true, rules: [{id: push, categories: [git-remote]}]}
      """

    private func run(loadsExtension: Bool = true, _ body: (RelayFixture) async throws -> Void) async throws {
      let folder = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/extension"
      try await RelayFixture.run(
        config: RelayFixture.defaultConfig + "\n" + Self.rules, pi: "extension: \(loadsExtension ? folder : "off")",
        capabilities: FakeMessenger.withButtons, body)
    }

    @Test func `a call that a rule matches is made when it is approved, and not when it is denied`() async throws {
      try await run { relay in
        try await relay.messenger.say("/bash git push", id: "1")
        try await relay.messenger.answer(pressing: "Approve")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("I pretended to run: git push")
        try await relay.messenger.say("/bash git push --force", id: "2")
        try await relay.messenger.answer(pressing: "Deny")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        await relay.messenger.waitForText("I did not do that.")
        #expect(await relay.count("I pretended to run: git push --force") == 0)
      }
    }

    @Test func `a stop denies the call that waits`() async throws {
      try await run { relay in
        try await relay.messenger.say("/bash git push", id: "1")
        _ = await relay.messenger.buttonsOfQuestion()
        try await relay.messenger.say("/stop", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        #expect(await relay.count("I pretended to run") == 0)
      }
    }

    @Test func `an upgrade denies the call that waits, and the run goes on`() async throws {
      try await run { relay in
        try await relay.messenger.say("/bash git push", id: "1")
        _ = await relay.messenger.buttonsOfQuestion()
        try await relay.goThrough(.upgrade)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("Denied: pi-relayd was upgraded.")
        #expect(await relay.count("I pretended to run") == 0)
      }
    }

    @Test func `an agent that would run without the extension does not start while approvals are on`() async throws {
      try await run(loadsExtension: false) { relay in
        try await relay.messenger.say("/bash git push", id: "1")
        await relay.messenger.waitForText("without pi-relay's extension no tool call")
        try await relay.messenger.answer(pressing: "Drop")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .stopped)
        #expect(await relay.count("I pretended to run: git push") == 0)
        let doctor = try await relay.command("doctor").output
        let problem = doctor.first { $0.hasPrefix("✗ approvals.enabled: ") }
        #expect(problem?.contains("agents do not start") == true, "\(doctor)")
      }
    }
  }
}
