import MessengerKit
import PluginTestKit
import RelayConcurrency
import RelayJSON
import RelayWire
import TestSupport
import Testing

@testable import Slack

@Suite struct SlackMessageTests {
  @Test func `a message that others have answered stays where it stood in direct messages`() throws {
    let data: JSONValue = ["ts": "1.000002", "user": "U1", "text": "a", "thread_ts": "1.000002"]
    #expect(try #require(SlackMessage(data, channel: "D1", me: "U0")).place == SlackPlace(channel: "D1"))
    #expect(try #require(SlackMessage(data, channel: "C1", me: "U0")).place.id == "C1:1.000002")
    let reply = data.setting("ts", "1.000003")
    #expect(try #require(SlackMessage(reply, channel: "D1", me: "U0")).place.id == "D1:1.000002")
  }

  @Test(
    arguments: [
      ["bot_id": "B1"], ["user": "U0"], ["subtype": "channel_join"], ["hidden": true],
    ] as [[String: JSONValue]])
  func `messages of programs and notices are none of a person`(more: [String: JSONValue]) {
    let message: [String: JSONValue] = ["ts": "1.000002", "user": "U1", "text": "a"]
    #expect(SlackMessage(.object(message), channel: "D1", me: "U0") != nil)
    #expect(SlackMessage(.object(message.merging(more) { $1 }), channel: "D1", me: "U0") == nil)
  }

  @Test func `the command's text is a command, and a press names its message`() throws {
    let used: JSONValue = [
      "trigger_id": "t1", "user_id": "U1", "channel_id": "C1", "text": " /use 2 &amp; 3 ", "response_url": "https://x",
    ]
    #expect(try #require(SlackInteraction(command: used)).kind == .command(name: "use", arguments: "2 & 3"))
    let press: JSONValue = [
      "type": "block_actions", "trigger_id": "t2", "user": ["id": "U1"], "channel": ["id": "D1"],
      "message": ["ts": "1.000002", "thread_ts": "1.000002"], "container": ["message_ts": "1.000002"],
      "actions": [["action_id": "b0.0", "block_id": "x", "value": "k:1"]],
    ]
    let interaction = try #require(SlackInteraction(interaction: press))
    #expect(interaction.kind == .press(action: "k:1", message: "1.000002") && interaction.place?.id == "D1")
  }
}

@Suite(.timeLimit(.minutes(1)), .enabled(if: PythonServer.isThere, "scripts/setup-peers"))
struct SlackAcknowledgementTests {
  @Test func `Slack repeats a message until the host has stored it`() async throws {
    try await PythonServer.run("fake-slack", with: PythonServer.python) { slack in
      let folder = try TemporaryFolder()
      let isRepeated = Locked(false)
      let harness = try PluginHarness<SlackMessenger>(
        config: ["token": "xoxb-the-token", "appToken": "xapp-the-token", "api": .string(Slack.api(slack))],
        folder: folder.path,
        reply: { _ in
          // The host takes its time, and Slack must not know that the message has arrived.
          let ledger = await Slack.wait(at: slack) { $0.all("delivered").count > 1 }
          isRepeated.withLock { $0 = $0 || ledger?.all("acknowledged").isEmpty == true }
          return .init(stored: true)
        })
      _ = try await harness.start()
      await Slack.wait(at: slack) { !$0.all("connected").isEmpty }
      try Slack.say("hello", to: slack)
      // Only one may wait for the server at a time.
      for await _ in harness.received { break }
      await Slack.wait(at: slack) { !$0.all("acknowledged").isEmpty }
      #expect(isRepeated.withLock { $0 })
      await harness.stop()
    }
  }
}
