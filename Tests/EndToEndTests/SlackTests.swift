import ControlServer
import FoundationEssentials
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct SlackTests {
    @Test func `a direct message at Slack is answered, and a stranger's and another workspace's are not`() async throws
    {
      try await Slack.run { slack, relay in
        try Slack.say("let me in", by: Slack.stranger, to: slack)
        try Slack.say("me too", by: "U0OUT", to: slack)
        try Slack.say("hello &lt;b&gt; <@U0BOB> &amp; <#C0GEN|general>", to: slack)
        let ledger = try #require(await Slack.waitForText("You wrote: hello <b> @Bob & #general", at: slack))
        #expect(ledger.count("let me in") == 0 && ledger.count("me too") == 0)
        #expect(ledger.count("Not authorized.") == 1)
        #expect(ledger.first("You wrote")?.form == "markdown")
        #expect(ledger.all("reacted").map { $0["reaction"]?.stringValue } == ["eyes"])
        _ = try await relay.waitForStatus { $0.plugins.first { $0.name == "slack/default" }?.problem == nil }
      }
    }

    @Test func `waiting messages are changed and withdrawn, and a preview of a link changes nothing`() async throws {
      try await Slack.run { slack, _ in
        try Slack.say("/slow 20", to: slack)
        await Slack.waitForText("The quick", at: slack)
        try Slack.say("first thought", ts: "1900000000.000001", to: slack)
        try Slack.say("never mind", ts: "1900000000.000002", to: slack)
        for text in ["first thought", "second thought"] {
          try Slack.tell(
            ["do": "edit", "channel": .string(Slack.direct), "ts": "1900000000.000001", "text": .string(text)], slack)
        }
        await Slack.waitForText("The waiting message was replaced", at: slack)
        try Slack.tell(["do": "remove", "channel": .string(Slack.direct), "ts": "1900000000.000002"], slack)
        let ledger = try #require(await Slack.waitForText("You wrote: second thought", at: slack))
        #expect(ledger.count("The waiting message was withdrawn") == 1)
        #expect(ledger.count("The waiting message was replaced") == 1)
        #expect(ledger.count("first thought") == 0 && ledger.count("never mind") == 0)
      }
    }

    @Test func `a message in a channel is answered in its thread by streaming, once for its two events`() async throws {
      try await Slack.run { slack, _ in
        try Slack.say("in general", ts: "1900000000.000001", channel: Slack.general, mention: true, to: slack)
        let ledger = try #require(
          await Slack.wait(at: slack) { $0.first("in general")?.isStreaming == false })
        let answer = try #require(ledger.first("in general"))
        #expect(answer.thread == "1900000000.000001" && answer.channel == Slack.general)
        #expect(ledger.count("in general") == 1)
        // Elsewhere the bot is heard where it is mentioned, and then in that thread.
        try Slack.say("unheard", channel: "G0PRIV", to: slack)
        try Slack.say("mentioned", ts: "1900000000.000003", channel: "G0PRIV", mention: true, to: slack)
        await Slack.waitForText("mentioned", at: slack)
        try Slack.say("go on", channel: "G0PRIV", thread: "1900000000.000003", to: slack)
        let later = try #require(await Slack.waitForText("go on", at: slack))
        #expect(later.first("go on")?.thread == "1900000000.000003")
        #expect(later.count("unheard") == 0)
      }
    }

    @Test func `what is not acknowledged is taken when it is repeated, and answered once`() async throws {
      try await Slack.run { slack, _ in
        try Slack.tell(["do": "ignore", "count": 1], slack)
        try Slack.say("hello", to: slack)
        let ledger = try #require(
          await Slack.wait(at: slack) { ledger in
            ledger.first("You wrote: hello") != nil && ledger.all("acknowledged").contains { $0["attempt"] != 0 }
          })
        #expect(ledger.count("You wrote: hello") == 1)
      }
    }

    @Test func `a repeat is the only delivery of what was written while the plugin was away`() async throws {
      try await Slack.run { slack, relay in
        try Slack.say("before", to: slack)
        await Slack.waitForText("You wrote: before", at: slack)
        try await relay.crash("slack/default")
        try Slack.say("meanwhile", to: slack)
        let ledger = try #require(await Slack.waitForText("You wrote: meanwhile", at: slack))
        #expect(ledger.count("You wrote: before") == 1)
        // Of what was repeated no more the history tells.
        try Slack.say("unannounced", with: ["silent": true], to: slack)
        try Slack.tell(["do": "drop"], slack)
        await Slack.waitForText("You wrote: unannounced", at: slack)
      }
    }

    @Test func `the next connection is open before the last one is left`() async throws {
      try await Slack.run { slack, _ in
        try Slack.tell(["do": "warn", "reason": "warning"], slack)
        let ledger = try #require(await Slack.wait(at: slack) { !$0.all("left").isEmpty })
        #expect(ledger.all("connected").map { $0["connections"] } == [1, 2])
        #expect(ledger.all("left").map { $0["connections"] } == [1])
        try Slack.say("hello", to: slack)
        await Slack.waitForText("You wrote: hello", at: slack)
      }
    }

    @Test func `a connection that has fallen silent is replaced`() async throws {
      try await Slack.run("silenceSeconds: 0.5") { slack, _ in
        try Slack.tell(["do": "silence", "on": true], slack)
        await Slack.wait(at: slack) { $0.all("connected").count > 1 }
        try Slack.tell(["do": "silence", "on": false], slack)
        try Slack.say("hello", to: slack)
        await Slack.waitForText("You wrote: hello", at: slack)
      }
    }

    @Test func `a long answer continues in further messages, and nothing of it is lost`() async throws {
      try await Slack.run { slack, _ in
        try Slack.say("/long 6000", to: slack)
        let ledger = try #require(
          await Slack.wait(at: slack) { $0.texts.map(\.text.count).reduce(0, +) >= 6_000 })
        #expect(ledger.texts.count >= 2)
        #expect(ledger.texts.allSatisfy { $0.text.utf16.count <= 4_000 })
      }
    }

    @Test func `an answer whose blocks Slack refuses is shown in the next simpler form`() async throws {
      try await Slack.run { slack, _ in
        try Slack.tell(["do": "refuse", "blocks": ["markdown"]], slack)
        try Slack.say("one **two**", to: slack)
        let first = try #require(await Slack.waitForText("one *two*", at: slack))
        #expect(first.first("one *two*")?.form == "mrkdwn")
        try Slack.tell(["do": "refuse", "blocks": ["markdown", "section"]], slack)
        try Slack.say("three", to: slack)
        let second = try #require(await Slack.waitForText("You wrote: three", at: slack))
        #expect(second.first("three")?.form == "plain")
      }
    }

    @Test func `an answer whose receipt is lost is shown once`() async throws {
      try await Slack.run { slack, relay in
        try Slack.fail("chat.postMessage", with: [0], at: slack)
        try Slack.say("hello", to: slack)
        await Slack.waitForText("You wrote: hello", at: slack)
        try Slack.fail("chat.startStream", with: [0], at: slack)
        try Slack.say("streamed", channel: Slack.general, to: slack)
        await Slack.wait(at: slack) { $0.first("streamed")?.isStreaming == false }
        try await relay.waitForStatus { $0.deliveries?.allSatisfy { $0.waiting == 0 } ?? true }
        let ledger = SlackLedger(slack.printed)
        #expect(ledger.count("You wrote: hello") == 1 && ledger.count("streamed") == 1)
        #expect(ledger.count("possible repeat") == 0)
      }
    }

    @Test(arguments: [Slack.direct, Slack.general])
    func `a plugin that is killed in the middle of an answer leaves one answer`(channel: String) async throws {
      try await Slack.run { slack, relay in
        try Slack.say("/slow 40", channel: channel, to: slack)
        let begun = try #require(await Slack.waitForText("The quick", at: slack))
        let thread = begun.all("said").first?["ts"]?.stringValue
        try await relay.crash("slack/default")
        await Slack.wait(at: slack) { $0.all("connected").count > 1 }
        try Slack.say("done?", channel: channel, thread: channel == Slack.general ? thread : nil, to: slack)
        await Slack.wait(at: slack) { $0.first("done?")?.isStreaming == false }
        try await relay.waitForStatus { $0.deliveries?.allSatisfy { $0.waiting == 0 } ?? true }
        let ledger = SlackLedger(slack.printed)
        #expect(ledger.count("The quick") == 1, "\(ledger.texts.map(\.text))")
        #expect(ledger.texts.allSatisfy { !$0.isStreaming })
      }
    }

    @Test func `Slack's wait is kept, and the answer comes after it`() async throws {
      try await Slack.run { slack, _ in
        try Slack.fail("chat.postMessage", with: [["wait": 1]], at: slack)
        try Slack.say("hello", to: slack)
        let ledger = try #require(await Slack.waitForText("You wrote: hello", at: slack))
        #expect(ledger.all("429").count == 1)
      }
    }

    @Test func `files go both ways, and the token to no other host`() async throws {
      try await Slack.run("images: automatic") { slack, _ in
        try Slack.tell(["do": "file", "id": "F1", "text": "the secret is 42"], slack)
        try Slack.say("look", with: ["files": ["F1"]], to: slack)
        await Slack.waitForText("the secret is 42", at: slack)
        try Slack.say("/image", to: slack)
        let ledger = try #require(await Slack.wait(at: slack) { $0.texts.contains { !$0.files.isEmpty } })
        #expect(ledger.texts.count { !$0.files.isEmpty } == 1)
      }
    }

    @Test func `a token that Slack revokes is named in the status, and so is a missing scope`() async throws {
      try await Slack.run { slack, relay in
        try Slack.tell(["do": "scopes", "without": ["reactions:write"]], slack)
        try Slack.say("hello", to: slack)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("lacks the scope reactions:write") == true }
        }
        try Slack.tell(["do": "revoke", "on": true], slack)
        try Slack.say("hello again", to: slack)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("the token was revoked (token_revoked)") == true }
        }
        try Slack.tell(["do": "revoke", "on": false], slack)
        #expect(relay.log.allSatisfy { !$0.contains("the-token") })
        let log = try await relay.command("logs", "slack/default").output.joined(separator: "\n")
        #expect(!log.contains("the-token"))
      }
    }

    @Test func `faults in the configuration are reported by line`() async throws {
      let config = "messengers:\n  slack:\n    default:\n      token: abc\n      api: http://example.com\n"
      try await RelayFixture.run(config: config) { relay in
        let status = try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "slack/default" && $0.state == .misconfigured }
        }
        let problem = try #require(status.plugins.first { $0.name == "slack/default" }?.problem)
        #expect(problem.contains("it begins with xoxb-") && problem.contains("http:// only where"), "\(problem)")
        #expect(problem.contains("appToken is missing"))
      }
    }
  }
}
