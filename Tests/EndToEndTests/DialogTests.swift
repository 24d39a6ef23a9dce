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
  @Suite struct DialogTests {
    @Test func `a choice is made by number or label and the question shows it`() async throws {
      try await RelayFixture.run { relay in
        for (number, reply, answer) in [(1, "2", "Green"), (2, "blue", "Blue"), (3, "Dark purple", "Dark purple")] {
          try await relay.messenger.say("/select", id: "q\(number)")
          await relay.messenger.wait { messenger in
            messenger.messages.count {
              $0.role == .dialog
                && $0.text
                  == "❓ **Which colour?**\n1. Red\n2. Green\n3. Blue\nReply with a number, or with an answer of your own."
            } == 1
          }
          // Meant as a number: there is no such.
          try await relay.messenger.say("4", id: "n\(number)")
          await relay.messenger.waitForText("Reply with a number from 1 to 3, with an answer of your own, or /cancel.")
          try await relay.messenger.say(reply, id: "a\(number)")
          await relay.messenger.waitForText("You answered: \(answer)")
          #expect(await relay.messenger.waitForOutcome(of: "q\(number)") == .answered)
          await relay.messenger.waitForText("✔ Which colour? — \(answer) (Ann)")
        }
      }
    }

    @Test func `questions for yes or no, for text, and their cancellation are answered`() async throws {
      try await RelayFixture.run { relay in
        for (number, ask, reply, answer) in [
          (1, "/confirm", "maybe", ""), (2, "", "Yes.", "You said yes."), (3, "/confirm", "n", "You said no."),
          (4, "/input", "Ann Smith", "You answered: Ann Smith"), (5, "/editor", "/cancel", "You gave no answer."),
        ] {
          if !ask.isEmpty {
            try await relay.messenger.say(ask, id: "q\(number)")
            await relay.messenger.wait { $0.messages.contains { $0.role == .dialog && $0.text.hasPrefix("❓") } }
          }
          try await relay.messenger.say(reply, id: "a\(number)")
          await relay.messenger.waitForText(answer.isEmpty ? "Reply yes or no" : answer)
        }
      }
    }

    @Test func `buttons answer once, and a late press gets a notice`() async throws {
      try await RelayFixture.run(capabilities: FakeMessenger.withButtons) { relay in
        try await relay.messenger.say("/select", id: "1")
        await relay.messenger.waitForText("Which colour?")
        let button = try #require(await relay.messenger.messages.first { $0.role == .dialog }?.buttons?[0][2])
        #expect(button.label == "Blue")
        #expect(button.id.utf8.count <= 100)
        try await relay.messenger.press(button.id, id: "p1")
        await relay.messenger.waitForText("You answered: Blue")
        try await relay.messenger.press(button.id, id: "p2")
        await relay.messenger.waitForText("That question is already settled.")
      }
    }

    @Test func `commands go before a question, and stopping withdraws it`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/input", id: "1")
        await relay.messenger.waitForText("What is your name?")
        try await relay.messenger.say("/status", id: "2")
        await relay.messenger.waitForText("Waiting for your answer to a question.")
        try await relay.messenger.say("/stop", id: "3")
        await relay.messenger.waitForText("withdrawn: the run was stopped")
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.messenger.say("not an answer", id: "4")
        await relay.messenger.waitForText("You wrote: not an answer")
      }
    }

    @Test func `a question expires with the agent's own limit, and ends with the agent`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/confirm 100", id: "1")
        await relay.messenger.waitForText("You gave no answer.")
        await relay.messenger.waitForText("withdrawn")
        try await relay.messenger.say("/confirm", id: "2")
        await relay.messenger.waitForText("❓ **Clear the cache?**")
        kill(try #require(try await relay.status().sessions.first?.pid), SIGKILL)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .failed)
        await relay.messenger.wait { messenger in
          !messenger.messages.contains { $0.role == .dialog && $0.text.hasPrefix("❓") }
        }
        try await relay.messenger.say("yes", id: "3")
        await relay.messenger.waitForText("You wrote: yes")
      }
    }

    @Test func `files that come with an answer reach the agent as a message of their own`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/input", id: "1")
        await relay.messenger.waitForText("What is your name?")
        let spool = try #require(await relay.messenger.lastInitialize?.spoolDir)
        try Data("the secret is 42".utf8).write(to: URL(filePath: spool + "/1"))
        try await relay.messenger.say(
          "Ann Smith", id: "2", attachments: [Attachment(id: "1", name: "notes.txt", path: spool + "/1")])
        await relay.messenger.waitForText("You answered: Ann Smith")
        await relay.messenger.waitForText("--- notes.txt ---\nthe secret is 42")
        #expect(await relay.messenger.texts(role: .answer).allSatisfy { !$0.contains("You wrote: Ann Smith") })
      }
    }

    @Test func `the first answer counts and every conversation is shown it`() async throws {
      try await RelayFixture.run { relay in
        try await relay.messenger.say("/select", id: "1")
        await relay.messenger.waitForText("Which colour?")
        try await relay.messenger.say("hello", id: "2", in: "c2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        try await relay.messenger.say("/use 1", id: "3", in: "c2")
        await relay.messenger.waitForText("You now talk to", in: "c2")
        // The conversation that answers a question must be able to see the question.
        await relay.messenger.waitForText("❓ **Which colour?**", in: "c2")
        try await relay.messenger.say("1", id: "4", in: "c2")
        await relay.messenger.waitForText("✔ Which colour? — Red", in: "c1")
        await relay.messenger.waitForText("You answered: Red", in: "c1")
        await relay.messenger.waitForText("You answered: Red", in: "c2")
      }
    }
  }
}
