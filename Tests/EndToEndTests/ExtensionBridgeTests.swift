import ProcessSupervision
import RelayJSON
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// The bridge of a session that the extension has attached, in Node, in a pi that the test plays.
  @Suite(.enabled(if: PlayedPi.node != nil, "there is no Node 20 or later")) struct ExtensionBridgeTests {
    /// Runs `pi-bridge` as a person would.
    private func bridge(_ relay: RelayFixture, _ arguments: String...) async throws -> JSONValue {
      let command = try await Command.run(
        Built.executable("pi-bridge"), arguments,
        environment: ["PI_BRIDGE_DIR": relay.bridges, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin"])
      #expect(command.exit == .exited(0), "\(command.errors)")
      return try JSONCoding.decode(JSONValue.self, from: Array(command.output.joined(separator: "\n").utf8))
    }

    /// The data of the events of one name, oldest first.
    private func history(_ relay: RelayFixture, of event: String) async throws -> [JSONValue] {
      let answer = try await bridge(relay, "history", "--event", event)
      return answer["data"]?["events"]?.arrayValue?.compactMap { $0["data"] } ?? []
    }

    @Test func `the end of a run tells its messages and its answer`() async throws {
      try await PlayedPi.run { relay, _ in
        try await relay.messenger.say("from the phone", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        let end = try #require(try await history(relay, of: "agent_end").first)
        #expect(end["messagesCount"] == 2)
        #expect(end["finalTextPreview"] == "You wrote: from the phone")
        #expect(end["stopReason"] == "stop")
      }
    }

    @Test func `shutdown ends pi in the terminal, also in the middle of a run`() async throws {
      try await PlayedPi.run { relay, pi in
        try await relay.messenger.say("answer me", id: "1")
        await relay.messenger.waitForText("Begun: me.")
        let answer = try await bridge(relay, "shutdown", "--confirm")
        #expect(answer["data"]?["requested"] == true)
        await relay.messenger.waitForText("pi in the terminal has ended")
        await pi.ended()
      }
    }
  }
}
