import FoundationEssentials
import RelayWire
import Supervisor
import TestSupport
import Testing

/// What people see at Discord, by its own account.
private struct DiscordLedger {
  private(set) var texts: [(id: String, text: String)] = []
  private(set) var identifies = 0
  private(set) var resumes = 0
  private(set) var pings = 0
  private(set) var refusals = 0

  init(_ lines: [String]) {
    for line in lines.dropFirst() {
      guard let event = try? JSONCoding.decode(JSONValue.self, from: Array(line.utf8)) else { continue }
      switch event["happened"]?.stringValue {
      case "identify": identifies += 1
      case "resume": resumes += 1
      case "shown":
        let (id, text) = (event["id"]?.stringValue ?? "", event["text"]?.stringValue ?? "")
        if let index = texts.firstIndex(where: { $0.id == id }) {
          texts[index].text = text
        } else {
          texts.append((id, text))
        }
        if event["pings"] != false { pings += 1 }
      case "removed": texts.removeAll { $0.id == event["id"]?.stringValue }
      case "429": refusals += 1
      default: break
      }
    }
  }
}

extension EndToEnd {
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct DiscordTests {
    private static let ann = "100000000000000001"

    private func run(_ body: (PythonServer, RelayFixture) async throws -> Void) async throws {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        let config = """
          messengers:
            discord:
              default:
                token: the-token
                api: http://127.0.0.1:\(discord.ports[1])
                auth: {users: ["\(Self.ann)"]}
                channels: ["700000000000000001"]
                editIntervalMilliseconds: 50
          """
        try await RelayFixture.run(config: config) { relay in
          _ = await discord.wait { DiscordLedger($0).identifies > 0 ? true : nil }
          try await body(discord, relay)
        }
      }
    }

    private func say(
      _ text: String, id: String, by author: String = ann, as event: String = "MESSAGE_CREATE", guild: String? = nil,
      channel: String = "500000000000000001", to discord: PythonServer
    ) throws {
      var said: [String: JSONValue] = [
        "id": .string(id), "channel_id": .string(channel), "content": .string(text),
        "author": ["id": .string(author), "username": "ann"],
      ]
      if event == "MESSAGE_UPDATE" { said["edited_timestamp"] = "2026-11-22T10:00:00+00:00" }
      if let guild { said["guild_id"] = .string(guild) }
      let message: JSONValue = ["do": "say", "event": .string(event), "message": .object(said)]
      try discord.tell(String(decoding: try JSONCoding.encode(message), as: UTF8.self))
    }

    private func waitForText(_ text: String, at discord: PythonServer) async -> DiscordLedger? {
      await discord.wait { lines in
        let ledger = DiscordLedger(lines)
        return ledger.texts.contains { $0.text.contains(text) } ? ledger : nil
      }
    }

    @Test func `a direct message is answered, and a stranger's is not`() async throws {
      try await run { discord, relay in
        try say("let me in", id: "1", by: "100000000000000009", to: discord)
        try say("hello @everyone", id: "2", to: discord)
        let ledger = try #require(await waitForText("You wrote: hello @everyone", at: discord))
        #expect(ledger.texts.map(\.text).count { $0.contains("let me in") } == 0)
        #expect(ledger.texts.contains { $0.text == "Not authorized." })
        #expect(ledger.pings == 0)
        #expect(try await relay.plugin("discord/default")?.state == .running)
      }
    }

    @Test func `messages that wait are changed and taken back`() async throws {
      try await run { discord, _ in
        try say("/slow 20", id: "1", to: discord)
        _ = await waitForText("The quick", at: discord)
        try say("first thought", id: "2", to: discord)
        try say("never mind", id: "3", to: discord)
        try say("second thought", id: "2", as: "MESSAGE_UPDATE", to: discord)
        _ = await waitForText("The waiting message was replaced", at: discord)
        try say("", id: "3", as: "MESSAGE_DELETE", to: discord)
        let ledger = try #require(await waitForText("You wrote: second thought", at: discord))
        #expect(ledger.texts.contains { $0.text.contains("The waiting message was withdrawn") })
        #expect(!ledger.texts.contains { $0.text.contains("first thought") || $0.text.contains("never mind") })
      }
    }

    @Test func `of a server's channels only those that are named are listened to`() async throws {
      try await run { discord, _ in
        try say("unheard", id: "1", guild: "7", channel: "600000000000000001", to: discord)
        try say("heard", id: "2", guild: "7", channel: "700000000000000001", to: discord)
        let ledger = try #require(await waitForText("heard", at: discord))
        #expect(!ledger.texts.contains { $0.text.contains("unheard") })
      }
    }

    @Test func `a long answer grows in one message, within the bucket's limit, and goes on in the next`() async throws {
      try await run { discord, _ in
        try discord.tell(#"{"do": "limit", "count": 2, "seconds": 0.3}"#)
        try say("/long 3000", id: "1", to: discord)
        let ledger = try #require(
          await discord.wait { lines in
            let ledger = DiscordLedger(lines)
            return ledger.texts.map(\.text.count).reduce(0, +) >= 3_000 ? ledger : nil
          })
        #expect(ledger.texts.allSatisfy { $0.text.utf16.count <= 2_000 })
        #expect(ledger.texts.count >= 2)
        // Until Discord has said how it counts, each of the two routes may find out once.
        #expect(ledger.refusals <= 2)
      }
    }

    @Test func `a connection that breaks off is resumed, and what was written meanwhile is answered`() async throws {
      try await run { discord, _ in
        try say("before", id: "1", to: discord)
        _ = await waitForText("You wrote: before", at: discord)
        try discord.tell(#"{"do": "drop"}"#)
        try say("meanwhile", id: "2", to: discord)
        let ledger = try #require(await waitForText("You wrote: meanwhile", at: discord))
        #expect(ledger.identifies == 1 && ledger.resumes == 1)
        #expect(ledger.texts.count { $0.text.contains("You wrote") } == 2)
      }
    }

    @Test func `a gateway that acknowledges no heartbeat is left, and resumed`() async throws {
      try await run { discord, _ in
        try discord.tell(#"{"do": "zombie"}"#)
        let ledger = try #require(
          await discord.wait { lines in
            let ledger = DiscordLedger(lines)
            return ledger.resumes > 0 ? ledger : nil
          })
        #expect(ledger.identifies == 1)
        try say("still there?", id: "1", to: discord)
        _ = await waitForText("You wrote: still there?", at: discord)
      }
    }

    @Test func `a killed plugin resumes, and answers nothing twice`() async throws {
      try await run { discord, relay in
        try say("before", id: "1", to: discord)
        _ = await waitForText("You wrote: before", at: discord)
        try await relay.crash("discord/default")
        try say("after", id: "2", to: discord)
        let ledger = try #require(await waitForText("You wrote: after", at: discord))
        #expect(ledger.identifies == 1 && ledger.resumes == 1)
        #expect(ledger.texts.count { $0.text.contains("You wrote: before") } == 1)
      }
    }

    @Test func `a session that Discord has forgotten is begun anew`() async throws {
      try await run { discord, _ in
        try discord.tell(#"{"do": "invalidate"}"#)
        try discord.tell(#"{"do": "drop"}"#)
        let ledger = await discord.wait { lines in
          let ledger = DiscordLedger(lines)
          return ledger.identifies == 2 ? ledger : nil
        }
        #expect(ledger?.resumes == 1)
        try say("hello", id: "1", to: discord)
        _ = await waitForText("You wrote: hello", at: discord)
      }
    }

    @Test func `an answer whose receipt is lost is shown once`() async throws {
      try await run { discord, relay in
        try discord.tell(#"{"do": "fail", "statuses": [0, 503, 0, 500]}"#)
        try say("hello", id: "1", to: discord)
        _ = await waitForText("You wrote: hello", at: discord)
        try await relay.waitForStatus { $0.deliveries?.allSatisfy { $0.waiting == 0 } ?? true }
        let texts = DiscordLedger(discord.printed).texts.map(\.text)
        #expect(texts.count { $0.contains("You wrote: hello") } == 1, "\(texts)")
      }
    }

    @Test func `what is wrong with the configuration is told by line`() async throws {
      let config = "messengers:\n  discord:\n    default:\n      token: a b\n      channels: [general]\n"
      try await RelayFixture.run(config: config) { relay in
        let status = try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "discord/default" && $0.state == .misconfigured }
        }
        let problem = try #require(status.plugins.first { $0.name == "discord/default" }?.problem)
        #expect(problem.contains("token holds blanks") && problem.contains("is no id of a channel"), "\(problem)")
      }
    }

    @Test func `what the portal refuses is told, and not tried again and again`() async throws {
      try await run { discord, relay in
        try discord.tell(#"{"do": "close", "code": 4014}"#)
        try await relay.waitForStatus { _ in
          let log = FileManager.default.contents(atPath: relay.folders.log("discord/default")) ?? Data()
          return String(decoding: log, as: UTF8.self).contains("switch it on in the developer portal")
        }
        #expect(DiscordLedger(discord.printed).identifies == 1)
        #expect(try await relay.command("plugins", "restart", "discord/default").exit == .exited(0))
        // The session that it had is gone on with: a try by hand costs nothing.
        _ = await discord.wait { DiscordLedger($0).resumes > 0 ? true : nil }
        try say("hello", id: "1", to: discord)
        _ = await waitForText("You wrote: hello", at: discord)
        let ledger = DiscordLedger(discord.printed)
        #expect(ledger.identifies == 1 && ledger.resumes == 1)
      }
    }
  }
}
