import ControlServer
import FoundationEssentials
import Glibc
import PluginConformance
import ProcessSupervision
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  @Suite struct CommandTests {
    @Test func `sessions are created, listed, chosen, renamed and closed`() async throws {
      try await RelayFixture.run(sessions: "roots: [/tmp]") { relay in
        func say(_ text: String, _ id: String, _ expected: String) async throws {
          try await relay.messenger.say(text, id: id)
          await relay.messenger.waitForText(expected)
          #expect(await relay.messenger.waitForOutcome(of: id) == .handled)
        }
        try await say("/status", "1", "There is no session here yet")
        try await say("/stop", "2", "There is no session here yet")
        try await say("/new first", "3", "New session first")
        try await say("/new second --in /tmp", "4", "New session second in /tmp")
        try await say("/new third --in /no/such", "5", "/no/such is not among the folders")
        try await say("/sessions", "6", "2. second — asleep ← here")
        try await say("/use fir", "7", "You now talk to first.")
        try await say("/use nothing", "8", "There is no session \"nothing\"")
        try await say("/name renamed", "9", "This session is now called renamed.")
        try await say("/help steer", "10", "/steer <text> — tell the working agent something now")
        try await say("/steer", "11", "The text is missing: /steer")
        try await say("/close", "12", "renamed is closed.")
        try await say("/sessions", "13", "Sessions (1):")
        try await say("/cancel", "14", "There is no open question to cancel.")
      }
    }

    @Test func `compacting waits for its turn, and a change of model restarts the agent`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("hello", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.messenger.say("/compact", id: "2")
        await relay.messenger.waitForText("Context compacted")
        let before = try await relay.status().sessions[0].pid
        try await relay.messenger.say("/model text-only", id: "3")
        await relay.messenger.waitForText("The next run uses text-only.")
        await relay.messenger.wait { $0.lastInitialize != nil }
        let spool = try #require(await relay.messenger.lastInitialize?.spoolDir)
        try Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]).write(to: URL(filePath: spool + "/1"))
        try await relay.messenger.say(
          "look", id: "4", attachments: [Attachment(id: "1", name: "a.png", path: spool + "/1")])
        #expect(await relay.messenger.waitForOutcome(of: "4") == .failed)
        await relay.messenger.waitForText("takes no images, so the message was not sent")
        #expect(try await relay.status().sessions[0].pid != before)
      }
    }

    @Test func `a command that the relay does not know goes to the agent`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/unknown words", id: "1")
        await relay.messenger.waitForText("You wrote: /unknown words")
        try await relay.messenger.say("/etc/passwd is a path", id: "2")
        await relay.messenger.waitForText("You wrote: /etc/passwd is a path")
      }
    }
  }
}
