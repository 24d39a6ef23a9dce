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

extension EndToEnd.Messengers {
  /// Acknowledged requests other than messages hold for the next daemon, too.
  @Suite struct PersistedEditTests {
    @Test func `a waiting message that was changed or withdrawn stays so when the daemon is killed`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("old words", id: "2")
        try await relay.messenger.say("not this", id: "3")
        _ = try await relay.messenger.request(
          MessageEdited(
            id: "2", conversation: Conversation(id: "c1"), sender: Sender(id: "u1", name: "Ann"), text: "new words"))
        _ = try await relay.messenger.request(MessageDeleted(id: "3", conversation: Conversation(id: "c1")))
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .stopped)
        let answers = await relay.messenger.texts(role: .answer).filter { $0.hasPrefix("You wrote:") }
        #expect(answers.count == 1)
        #expect(answers[0].hasPrefix("You wrote: new words"))
      }
    }

    @Test func `a waiting message is changed in its own session`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 60", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("old words", id: "2")
        try await relay.messenger.say("/new second", id: "3")
        _ = await relay.messenger.waitForOutcome(of: "3")
        let edit = MessageEdited(
          id: "2", conversation: Conversation(id: "c1"), sender: Sender(id: "u1", name: "Ann"), text: "new words")
        _ = try await relay.messenger.request(edit)
        // The same once more changes nothing.
        _ = try await relay.messenger.request(edit)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts().count { $0.contains("The waiting message was replaced") } == 1)
        try await relay.messenger.say("/use 1", id: "4")
        _ = await relay.messenger.waitForOutcome(of: "4")
        let folder = try #require(try await relay.status().sessions.first?.sessionFile)
        let session = String(decoding: FileManager.default.contents(atPath: folder) ?? Data(), as: UTF8.self)
        #expect(session.contains("new words"))
        #expect(!session.contains("old words"))
      }
    }

    @Test func `a waiting message keeps its quotation, and does not become a command`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 60", id: "1")
        await relay.messenger.waitForText("The quick")
        let here = Conversation(id: "c1")
        let ann = Sender(id: "u1", name: "Ann")
        let reply = MessageReceived(
          id: "2", conversation: here, sender: ann, text: "is this right?",
          replyTo: QuotedMessage(id: "9", sender: "Bob", text: "two and two is five"))
        _ = try await relay.messenger.request(reply)
        try await relay.messenger.say("/followup foo", id: "3")
        for (id, text) in [("2", "is that right?"), ("2", "/close"), ("3", "/followup foo"), ("3", "/followup bar")] {
          _ = try await relay.messenger.request(
            MessageEdited(id: id, conversation: here, sender: ann, text: text))
        }
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        let file = try #require(try await relay.status().sessions.first?.sessionFile)
        let session = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
        #expect(session.contains(#"[In reply to these words of Bob: \"two and two is five\"]\nis that right?"#))
        #expect(await relay.messenger.texts(role: .answer).last?.hasPrefix("You wrote: bar") == true)
        let notices = await relay.messenger.texts(role: .notice)
        #expect(notices.count { $0.contains("The waiting message was replaced") } == 2, "\(notices)")
        #expect(notices.count { $0.contains("cannot become a command") } == 1)
      }
    }

    @Test func `a pressed button is known to the next daemon`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.press("gone:1", id: "b1")
        await relay.messenger.waitForText("That question is already settled")
        let press = ActionInvoked(
          id: "b1", conversation: Conversation(id: "c1"), sender: Sender(id: "u1", name: "Ann"), action: "gone:1")
        #expect(try await !relay.messenger.request(press).stored)
        try await relay.killAndStart()
        #expect(try await !relay.messenger.request(press).stored)
        try await relay.messenger.say("hello", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.texts().count { $0.contains("That question is already settled") } == 1)
      }
    }

    @Test func `a compaction that was interrupted is reported`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/compact", id: "2")
        // The compaction is acknowledged and handled, because the next message of the conversation is.
        try await relay.messenger.say("/help", id: "3")
        _ = await relay.messenger.waitForOutcome(of: "3")
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        #expect(
          await relay.messenger.texts().count { $0.contains("while it handled \"/compact\": it may or may not") } == 1)
      }
    }

    @Test func `a compaction that has not begun at a stop is done after the next start`() async throws {
      let config = RelayFixture.defaultConfig + "\nshutdown: {drainSeconds: 0}\n"
      try await RelayFixture.run(config: config) { relay in
        try await relay.messenger.say("/slow 500", id: "1")
        await relay.messenger.waitForText("The quick")
        try await relay.messenger.say("/compact", id: "2")
        try await relay.messenger.say("/help", id: "3")
        _ = await relay.messenger.waitForOutcome(of: "3")
        #expect(await relay.stop() == .exited(0))
        try await relay.start()
        #expect(await relay.messenger.waitForOutcome(of: "2") == .handled)
        #expect(await relay.messenger.texts().contains { $0.contains("compacted") })
      }
    }

    @Test func `a plugin that is switched off stays off`() async throws {
      try await RelayFixture.run { relay in
        let off = try await relay.command("plugins", "disable", "formatter")
        #expect(off.exit == .exited(0), "\(off.errors)")
        try await relay.killAndStart()
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "formatter" && $0.state == .disabled }
        }
        #expect(try await relay.command("plugins", "enable", "formatter").exit == .exited(0))
        try await relay.killAndStart()
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "formatter" && $0.state == .running }
        }
      }
    }

    @Test func `a send waits as long as the platform asked for, whichever daemon sends it`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "0")
        _ = await relay.messenger.waitForOutcome(of: "0")
        await relay.messenger.fail(
          MessageSend.method, with: [DeliveryFailure.rateLimited(retryAfter: 3_600).wireError])
        try await relay.messenger.say("/help", id: "1")
        try await relay.waitForTries(1)
        try await relay.killAndStart()
        try await relay.messenger.say("hello", id: "2", in: "c2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.texts().allSatisfy { !$0.contains("Write to the agent") })
        try await relay.waitForStatus { $0.deliveries?.map(\.waiting) == [1] }
        try await relay.waitForTries(1)
      }
    }

    @Test func `tries are counted over daemons, and a message that was given up is shown`() async throws {
      let config = RelayFixture.defaultConfig + "\ndelivery: {attempts: 2}\n"
      try await RelayFixture.run(config: config) { relay in
        let refusal = DeliveryFailure.transient("the platform is not well").wireError
        let later = DeliveryFailure.rateLimited(retryAfter: 1).wireError
        // The second try is most likely the next daemon's; with one try more each, the text would be shown.
        await relay.messenger.fail(MessageSend.method, with: [later, refusal])
        try await relay.messenger.say("/help", id: "1")
        try await relay.waitForTries(1)
        try await relay.killAndStart()
        let status = try await relay.waitForStatus { $0.deliveries?.contains { $0.failed == 1 } == true }
        #expect(status.deliveries?.first?.lastFailure == "given up after 2 tries")
        let shown = try await relay.command("status")
        #expect(
          shown.output.contains { $0.contains("1 given up  the last: given up after 2 tries") }, "\(shown.output)")
      }
    }

    @Test func `a file that has been removed meanwhile is reported`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        _ = await relay.stop()
        let store = try SQLiteStore(path: relay.home.database)
        let file = FileSend(
          key: "k", conversation: "c1", path: relay.scratch.path + "/gone.png", name: "chart.png", mime: "image/png")
        try await store.recordOutbound(
          [
            OutboundRecord(
              key: "k", conversation: ConversationKey(instance: "fake/default", conversation: "c1"),
              request: .file(file))
          ], ending: nil, closing: nil)
        await store.close()
        try await relay.start()
        await relay.messenger.waitForText("chart.png could not be shown here")
        try await relay.waitForStatus { status in
          status.deliveries?.contains { $0.lastFailure?.hasPrefix("there is no file") == true } == true
        }
      }
    }
  }
}

extension RelayFixture {
  /// Waits until it is stored that a send has failed so often.
  fileprivate func waitForTries(_ count: Int) async throws {
    try await waitForStore { store in
      try await store.unfinishedOutbound(of: "fake/default").contains { $0.tries.failed == count }
    }
  }
}
