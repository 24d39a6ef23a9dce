import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayWire
import TestSupport
import Testing

private let sourceFolder = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }

extension EndToEnd.Operation {
  /// The bridges of the daemon's own sessions, reached with `pi-bridge`.
  @Suite struct SessionBridgeTests {
    /// Runs `pi-bridge` as a person would.
    private func bridge(_ relay: RelayFixture, _ arguments: String...) async throws -> Command {
      try await Command.run(
        Built.executable("pi-bridge"), arguments,
        environment: ["PI_BRIDGE_DIR": relay.bridges, "HOME": relay.scratch.path, "PATH": "/usr/bin:/bin"])
    }

    /// The JSON that a command has printed.
    private func json(_ command: Command) throws -> JSONValue {
      #expect(command.exit == .exited(0), "\(command.errors)")
      return try JSONCoding.decode(JSONValue.self, from: Array(command.output.joined(separator: "\n").utf8))
    }

    /// A conversation whose agent runs.
    private func begin(_ relay: RelayFixture) async throws {
      try await relay.messenger.say("hello", id: "1")
      #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
    }

    @Test func `a session is driven from the command line, and people who watch it see the message and its answer`()
      async throws
    {
      try await RelayFixture.run { relay in
        try await begin(relay)
        let listed = try json(try await bridge(relay, "list", "--json")).arrayValue
        #expect(listed?.count == 1)
        #expect(listed?.first?["alive"]?.boolValue == true)
        #expect(listed?.first?["cwd"]?.stringValue == relay.scratch.path)
        let sent = try json(try await bridge(relay, "send", "from the command line"))
        #expect(sent["data"]?["deliveredAs"]?.stringValue == "now")
        #expect(sent["data"]?["idleBeforeSend"]?.boolValue == true)
        await relay.messenger.waitForText("▶ USER: from the command line")
        await relay.messenger.waitForText("You wrote: from the command line")
        #expect(try await bridge(relay, "wait", "--timeout", "30").exit == .exited(0))
        let events = try json(try await bridge(relay, "history", "--event", "agent_end"))["data"]?["events"]?.arrayValue
        let answer = events?.last?["data"]?["finalTextPreview"]?.stringValue
        #expect(answer?.contains("from the command line") == true)
      }
    }

    @Test func `a message by a bridge survives a kill of the daemon, and runs once`() async throws {
      try await RelayFixture.run { relay in
        try await begin(relay)
        // The agent is busy: the message waits.
        try await relay.messenger.say("/slow 100000", id: "2")
        await relay.messenger.waitForText("The quick brown fox jumps")
        let sent = try json(try await bridge(relay, "follow-up", "kept over a crash"))
        #expect(sent["data"]?["deliveredAs"]?.stringValue == "followUp")
        try await relay.killAndStart()
        await relay.messenger.waitForText("You wrote: kept over a crash")
        try await relay.messenger.say("last", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        #expect(await relay.messenger.texts().count { $0.contains("You wrote: kept over a crash") } == 1)
      }
    }

    @Test func `a question is answered by a bridge, and a second answer is refused`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/confirm", id: "1")
        await relay.messenger.waitForText("❓")
        let questions = try json(try await bridge(relay, "questions"))["data"]?["questions"]?.arrayValue
        let id = try #require(questions?.first?["id"]?.stringValue)
        _ = try json(try await bridge(relay, "answer", "--request-id", id, "--answers", #"[["Yes"]]"#))
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("✔")
        let told = try json(try await bridge(relay, "history", "--event", "question"))["data"]?["events"]?.arrayValue
        #expect(told?.map { $0["data"]?["action"] } == ["asked", "answered"])
        #expect(told?.allSatisfy { $0["data"]?["requestId"]?.stringValue == id } == true)
        #expect(told?.last?["data"]?["answer"] == "yes")
        let inputs = try json(try await bridge(relay, "history", "--event", "input"))["data"]?["events"]?.arrayValue
        #expect(inputs?.first?["data"]?["source"] == "rpc" && inputs?.first?["data"]?["textPreview"] == "/confirm")
        let second = try await bridge(relay, "answer", "--request-id", id, "--answers", #"[["No"]]"#)
        #expect(second.exit == .exited(1))
      }
    }

    @Test func `a client that was written from the document finds what the document says`() async throws {
      try await RelayFixture.run { relay in
        try await begin(relay)
        let client = sourceFolder + "/Tests/Fixtures/bridge-client/client.py"
        let found = try await Command.run(
          "/usr/bin/env", ["python3", client],
          environment: ["PI_BRIDGE_DIR": relay.bridges, "PATH": "/usr/local/bin:/usr/bin:/bin"])
        #expect(found.exit == .exited(0), "\(found.output) \(found.errors)")
      }
    }

    @Test func `history and numbers of events continue over an upgrade`() async throws {
      try await RelayFixture.run { relay in
        try await begin(relay)
        let before = try json(try await bridge(relay, "history"))["data"]?["totalEvents"]?.integerValue
        _ = try await relay.command("upgrade")
        let after = try json(try await bridge(relay, "history"))["data"]
        #expect(try #require(after?["totalEvents"]?.integerValue) >= (before ?? .max))
        #expect(after?["events"]?.arrayValue?.first?["event"]?.stringValue == "bridge_start")
      }
    }

    @Test func `the bridge goes with its agent, and bridges of a killed daemon are cleared away by the next`()
      async throws
    {
      try await RelayFixture.run { relay in
        try await begin(relay)
        func files() throws -> [String] {
          try ["", "/instances", "/raw"].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: relay.bridges + folder)
          }.filter { $0.contains(".") }
        }
        #expect(try files().count == 3)
        try await relay.killAndStart()
        try await relay.messenger.say("again", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(try files().count == 3)
        _ = await relay.stop()
        #expect(try files().isEmpty)
      }
    }

    @Test func `a run that was begun in a terminal shows in state and list, and is waited for`() async throws {
      try await RelayFixture.run { relay in
        let pi = try await TerminalPi(
          relay.home.socket, session: "t1", name: "shop", directory: relay.scratch.path)
        try await relay.messenger.say("/use shop", id: "use")
        _ = await relay.messenger.waitForOutcome(of: "use")
        func state() async throws -> JSONValue? { try json(try await bridge(relay, "state"))["data"]?["isIdle"] }
        func listed() async throws -> JSONValue? {
          try json(try await bridge(relay, "list", "--json")).arrayValue?.first?["isIdle"]
        }
        #expect(try await state() == true)
        #expect(try await listed() == true)
        try pi.beginRun("typed here", source: "interactive")
        await relay.messenger.waitForText("▶ USER: typed here")
        #expect(try await state() == false)
        #expect(try await listed() == false)
        let impatient = try await bridge(relay, "wait", "--timeout", "0.1")
        #expect(impatient.errors == ["the agent is still at work after 0.1 s"])
        async let waited = bridge(relay, "wait", "--timeout", "60")
        try pi.endRun("Done.")
        #expect(try await waited.exit == .exited(0))
        #expect(try await listed() == true)
        pi.close()
      }
    }

    @Test(.enabled(if: PlayedPi.node != nil, "there is no Node 20 or later"))
    func `a session of a terminal is driven from the command line`() async throws {
      try await PlayedPi.run { relay, pi in
        let listed = try json(try await bridge(relay, "list", "--json")).arrayValue?.first
        #expect(listed?["sessionId"] == "t1" && listed?["cwd"]?.stringValue == relay.scratch.path)
        let sent = try json(try await bridge(relay, "send", "--session", "t1", "from the command line"))["data"]
        #expect(sent?["deliveredAs"] == "now" && sent?["idleBeforeSend"] == true)
        await pi.wait(for: #"{"message":"from the command line"}"#)
        #expect(try await bridge(relay, "wait", "--timeout", "60").exit == .exited(0))
        await relay.messenger.waitForText("You wrote: from the command line")
        let ends = try json(try await bridge(relay, "history", "--event", "message_end"))["data"]?["events"]?.arrayValue
        #expect(ends?.last?["data"]?["message"]?["role"] == "assistant")
      }
    }

    @Test func `a setting switches bridges off`() async throws {
      try await RelayFixture.run(config: RelayFixture.defaultConfig + "\nbridge: {enabled: false}\n") { relay in
        try await begin(relay)
        #expect(try await bridge(relay, "list").output.joined().contains("No active pi session bridges found."))
      }
    }
  }
}
