import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  @Suite struct AssistantTests {
    /// The beginning of the demo agent's answer in a session that holds nothing.
    static let newcomer = "I am the demo agent"

    private static func config(_ assistant: String, conversations: String = "dm: {use: assistant}") -> String {
      """
      assistant: {\(assistant)}
      messengers:
        fake:
          default:
            auth: {users: [u1, u2]}
            conversations: {\(conversations)}
      """
    }

    private static func makeRoot() throws -> String {
      let root = FileManager.default.temporaryDirectory.path + "/pr-assistant-\(UUID().uuidString.prefix(8))"
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
      return root
    }

    private static func names(in folder: String) -> [String] {
      (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Makes what is kept of a session look as old as this.
    private static func age(_ root: String, bySeconds seconds: Int) {
      for session in names(in: root) {
        for path in names(in: "\(root)/\(session)").map({ "\(root)/\(session)/\($0)" }) + ["\(root)/\(session)"] {
          let time = timespec(tv_sec: Int(Date().timeIntervalSince1970) - seconds, tv_nsec: 0)
          utimensat(AT_FDCWD, path, [time, time], 0)
        }
      }
    }

    private static func say(
      _ text: String, id: String, in place: String = "c1", from: String = "u1", at relay: RelayFixture
    )
      async throws -> String
    {
      try await relay.messenger.say(text, id: id, in: place, from: from)
      #expect(await relay.messenger.waitForOutcome(of: id) == .answered)
      return await relay.messenger.texts(in: place).last { $0.contains(text) } ?? ""
    }

    @Test func `each message but the owner's gets a new session, with a folder and settings of its own`() async throws {
      let root = try Self.makeRoot()
      defer { try? FileManager.default.removeItem(atPath: root) }
      let config = Self.config("directory: \(root)/data, sessionDirectory: \(root)/kept, owner: u2")
      try await RelayFixture.run(config: config) { relay in
        let first = try await Self.say("first", id: "1", at: relay)
        let second = try await Self.say("second", id: "2", at: relay)
        #expect(first.contains(Self.newcomer) && second.contains(Self.newcomer))
        let owner = try await Self.say("from the owner", id: "3", in: "c2", from: "u2", at: relay)
        let again = try await Self.say("from the owner again", id: "4", in: "c2", from: "u2", at: relay)
        #expect(owner.contains(Self.newcomer) && !again.contains(Self.newcomer))
        #expect(Self.names(in: root + "/kept").count == 1, "nothing is kept of the others'")

        let pid = try #require(try await relay.status().sessions.compactMap(\.pid).first)
        let surroundings = FileManager.default.contents(atPath: "/proc/\(pid)/environ") ?? Data()
        #expect(String(decoding: surroundings, as: UTF8.self).contains("PI_CODING_AGENT_DIR=\(root)/data\0"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") == root + "/data")
        let daemon = FileManager.default.contents(atPath: "/proc/\(relay.daemon?.pid ?? 0)/environ") ?? Data()
        #expect(!String(decoding: daemon, as: UTF8.self).contains("PI_CODING_AGENT_DIR"))

        try await relay.killAndStart()
        let later = try await Self.say("the owner returns", id: "5", in: "c2", from: "u2", at: relay)
        #expect(!later.contains(Self.newcomer))
        let third = try await Self.say("third", id: "6", at: relay)
        #expect(third.contains(Self.newcomer))
      }
    }

    @Test func `a conversation is remembered for its time, also over restarts, and no longer`() async throws {
      let root = try Self.makeRoot()
      defer { try? FileManager.default.removeItem(atPath: root) }
      let config = Self.config("sessionDirectory: \(root), sessionTimeoutSeconds: 3600, sweepSeconds: 0")
      try await RelayFixture.run(config: config) { relay in
        #expect(try await Self.say("first", id: "1", at: relay).contains(Self.newcomer))
        #expect(try await !Self.say("second", id: "2", at: relay).contains(Self.newcomer))
        Self.age(root, bySeconds: 3_000)
        try await relay.killAndStart()
        #expect(try await !Self.say("third", id: "3", at: relay).contains(Self.newcomer))
        // Its agent is running, and would remember.
        Self.age(root, bySeconds: 3_700)
        #expect(try await Self.say("fourth", id: "4", at: relay).contains(Self.newcomer))
      }
    }

    @Test func `with a new session for each message the owner's session is kept as long as configured`() async throws {
      let root = try Self.makeRoot()
      defer { try? FileManager.default.removeItem(atPath: root) }
      let config = Self.config("sessionDirectory: \(root), sessionTimeoutSeconds: 0, sweepSeconds: 1, owner: u2")
      try await RelayFixture.run(config: config) { relay in
        #expect(try await Self.say("first", id: "1", in: "c2", from: "u2", at: relay).contains(Self.newcomer))
        // A week, and a sweep.
        let left = "\(root)/\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: left + "/.pi-relay-session"))
        Self.age(root, bySeconds: 604_800)
        try await relay.waitForLog("1 folder(s) that were not used")
        #expect(try await relay.status().sessions.count == 1)
        #expect(try await !Self.say("second", id: "2", in: "c2", from: "u2", at: relay).contains(Self.newcomer))
        Self.age(root, bySeconds: 604_800)
        try await relay.killAndStart()
        #expect(try await !Self.say("third", id: "3", in: "c2", from: "u2", at: relay).contains(Self.newcomer))
      }
    }

    @Test func `sessions past their time are removed from memory and disk, and no others`() async throws {
      let root = try Self.makeRoot()
      defer { try? FileManager.default.removeItem(atPath: root) }
      let left = "\(root)/\(UUID().uuidString.lowercased())"
      for folder in [left, root + "/other"] {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      }
      try Data().write(to: URL(filePath: left + "/.pi-relay-session"))
      let foreign = "\(root)/\(UUID().uuidString.lowercased())"
      try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: true)
      Self.age(root, bySeconds: 4_000)
      let config = Self.config("sessionDirectory: \(root), sessionTimeoutSeconds: 3600, sweepSeconds: 1")
      try await RelayFixture.run(config: config) { relay in
        try await relay.waitForLog("0 session(s) and 1 folder(s) that were not used")
        _ = try await Self.say("first", id: "1", at: relay)
        _ = try await Self.say("here", id: "2", in: "c2", at: relay)
        let kept = Self.names(in: root).filter { $0 != "other" && !foreign.hasSuffix($0) }
        #expect(kept.count == 2 && !kept.contains { left.hasSuffix($0) })
        Self.age(root, bySeconds: 3_700)
        try await relay.waitForStatus { $0.sessions.isEmpty && Self.names(in: root).count == 2 }
        #expect(access(foreign, F_OK) == 0 && access(root + "/other", F_OK) == 0, "what is not ours stays")
        #expect(try await Self.say("second", id: "3", at: relay).contains(Self.newcomer))
        #expect(await !relay.messenger.texts().contains { $0.contains("no longer exists") })
      }
    }

    @Test func `at the limit of waiting messages the person is told to try later, and the log has a line`() async throws
    {
      let config = Self.config("maximumQueued: 1, workers: 1, healthSeconds: 1")
      try await RelayFixture.run(config: config) { relay in
        try await relay.messenger.say("/slow 30", id: "1", in: "c1")
        await relay.messenger.waitForText("The quick", in: "c1")
        try await relay.messenger.say("second", id: "2", in: "c2")
        // Its agent waits for a place: one works at a time.
        await relay.messenger.waitForText("All agents are busy", in: "c2")
        try await relay.messenger.say("third", id: "3", in: "c3")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await relay.messenger.waitForOutcome(of: "3") == .failed)
        #expect(await relay.messenger.texts(in: "c3").contains { $0.contains("Too many messages are waiting") })
        try await relay.waitForLog("fake/default:c1: 1 answer(s), p50")
        #expect(relay.log.contains { $0.contains("fake/default:c2: assistant: answered: waited") })
      }
    }

    @Test func `an answer that takes too long is stopped and counted`() async throws {
      try await RelayFixture.run(config: Self.config("callTimeoutSeconds: 3, healthSeconds: 1")) { relay in
        try await relay.messenger.say("/hang", id: "1")
        await relay.messenger.waitForText("The run took longer than 3 s")
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.waitForLog("1 timed out")
        #expect(try await Self.say("and then", id: "2", at: relay).contains(Self.newcomer))
      }
    }

    @Test func `in a conversation of several people only messages for the bot are answered`() async throws {
      let config = Self.config("sessionTimeoutSeconds: 60", conversations: "channel: {use: assistant}")
      try await RelayFixture.run(config: config) { relay in
        let place = Conversation(id: "c1", kind: .channel)
        func message(_ id: String, _ text: String, mention: Bool?) -> MessageReceived {
          MessageReceived(
            id: id, conversation: place, sender: Sender(id: "u1", name: "Ann"), text: text, mention: mention)
        }
        let chatter = try await relay.messenger.request(message("1", "chatter", mention: nil))
        #expect(!chatter.stored && chatter.refused != true)
        #expect(try await relay.messenger.request(message("2", "a question", mention: true)).stored)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        #expect(await !relay.messenger.texts().contains { $0.contains("chatter") })
      }
    }

    @Test func `findings of the heartbeat reach the owner through the owner's own session`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.directMessages = true
      let config = Self.config("heartbeatSeconds: 3, owner: u2")
      try await RelayFixture.run(config: config, capabilities: capabilities) { relay in
        await relay.messenger.waitForText("Your periodic check found the following", in: "dm-u2")
        let status = try await relay.status()
        #expect(status.sessions.map(\.name) == ["assistant"], "the session of the check itself is not listed")
        // A question that waits is not answered by a finding.
        try await relay.messenger.say("/input", id: "asks", in: "dm-u2", from: "u2")
        await relay.messenger.waitForText("What is your name?", in: "dm-u2")
        await relay.messenger.waitForText("periodic check found something", in: "dm-u2")
        #expect(await relay.messenger.texts(in: "dm-u2").contains("💓 From the assistant's own periodic check:"))
        try await relay.messenger.say("Bob", id: "answers", in: "dm-u2", from: "u2")
        #expect(await relay.messenger.waitForOutcome(of: "asks") == .answered)
        #expect(
          await relay.messenger.texts(in: "dm-u2").contains { $0.contains("What is your name?") && $0.contains("Bob") })
        #expect(try await relay.command("upgrade").exit == .exited(0))
        #expect(try await Self.say("hello", id: "1", in: "dm-u2", from: "u2", at: relay).contains("hello"))
      }
    }

    @Test func `a finding is kept at the limit of waiting messages`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.directMessages = true
      let config = Self.config("heartbeatSeconds: 2, owner: u2, maximumQueued: 1")
      try await RelayFixture.run(config: config, capabilities: capabilities) { relay in
        try await relay.messenger.say("/input", id: "asks", in: "dm-u2", from: "u2")
        await relay.messenger.waitForText("What is your name?", in: "dm-u2")
        // Another's words are no answer, and fill the queue.
        try await relay.messenger.say("another's words", id: "fills", in: "dm-u2", from: "u2", forwarded: true)
        await relay.messenger.waitForText("Queued", in: "dm-u2")
        await relay.messenger.waitForText("periodic check found something", in: "dm-u2")
        try await relay.messenger.say("Bob", id: "answers", in: "dm-u2", from: "u2")
        await relay.messenger.waitForText("💓 From the assistant's own periodic check:", in: "dm-u2")
        await relay.messenger.waitForText("Your periodic check found the following", in: "dm-u2")
        #expect(await relay.messenger.texts(in: "dm-u2").allSatisfy { !$0.contains("not accepted") })
      }
    }
  }
}
