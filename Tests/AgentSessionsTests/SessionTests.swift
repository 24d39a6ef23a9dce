import PiRPC
import RelayConcurrency
import RelayConfig
import RelayModel
import SessionStates
import TestSupport
import Testing

@testable import AgentSessions

/// A session with the demo agent, and nobody but the test to hear of it.
@Suite(.timeLimit(.minutes(1))) struct SessionTests {
  private func prompt(_ text: String, from instance: String) -> Prompt {
    Prompt(
      key: MessageKey(conversation: ConversationKey(instance: instance, conversation: "c1"), id: text), text: text,
      typed: text)
  }

  /// The next question.
  private func question(_ events: Mailbox<SessionEvent>) async throws -> PiDialog {
    while let event = await events.next() { if case .dialogOpened(let question, _) = event { return question.dialog } }
    throw CancellationError()
  }

  /// How the message ended.
  private func end(of prompt: Prompt, _ events: Mailbox<SessionEvent>) async -> RunEnd? {
    while let event = await events.next() {
      if case .runEnded(let message, let end) = event, message.key == prompt.key { return end }
    }
    return nil
  }

  @Test func `a question about a silent agent stays open when the terminal that its run came from is gone`()
    async throws
  {
    var settings = Config().sessions
    settings.silenceTimeout = .milliseconds(100)
    let agent = Built.executable("pi-relay-demo-agent")
    try await SessionFixture.run(agent: agent, settings: settings, in: TemporaryFolder()) { session, events, _ in
      let hanging = prompt("/hang", from: "terminal/1")
      _ = await session.enqueue(hanging)
      let dialog = try await question(events)
      await session.drop(instance: "terminal/1")
      // Any other conversation that turns to the session may answer the question.
      #expect(await session.answer(dialog.id, .value("Stop the run")))
      #expect(await end(of: hanging, events) == .aborted)
    }
  }

  @Test func `a message whose question went to a terminal that is gone ends, and the next one runs`() async throws {
    try await SessionFixture.run(in: TemporaryFolder()) { session, events, _ in
      let first = prompt("first", from: "terminal/1")
      let second = prompt("second", from: "fake/default")
      _ = await session.enqueue(first)
      _ = try await question(events)
      #expect(await session.enqueue(second) == .undecided(2))
      await session.drop(instance: "terminal/1")
      #expect(await end(of: first, events) == .aborted)
      let dialog = try await question(events)
      #expect(dialog.message?.contains("second") == true || dialog.title.contains("second"))
      #expect(await session.answer(dialog.id, .value("Drop")))
      #expect(await end(of: second, events) == .aborted)
    }
  }
}
