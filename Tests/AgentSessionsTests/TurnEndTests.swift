import SessionStates
import Testing

@testable import AgentSessions
@testable import RelayModel

@Suite struct TurnEndTests {
  private let prompt = Prompt(
    key: MessageKey(conversation: ConversationKey(instance: "fake/default", conversation: "c1"), id: "1"), text: "hi",
    typed: "hi")

  @Test func `a turn ends as its run did, and without a run as its life concluded`() {
    var turn = Turn(prompt)
    turn.why = "no such program"
    #expect(turn.end(for: .unavailable(mayHaveBeenTaken: false), words: "hi") == .failed("no such program"))
    #expect(turn.end(for: .refused, words: "hi")?.problem?.contains("without saying why") == true)
    #expect(turn.end(for: .setAside(mayHaveBeenTaken: true), words: "hi")?.problem?.hasSuffix("set aside: hi") == true)
    #expect(turn.end(for: .aborted(mayHaveBeenTaken: true), words: "hi") == .aborted)
    #expect(turn.end(for: .notTaken, words: "hi") == .withdrawn)
    turn.end = .completed
    #expect(turn.end(for: .ran, words: "hi") == .completed)
    // It depends on what the agent has saved.
    #expect(turn.end(for: .interrupted, words: "hi") == nil)
  }

  @Test func `an interruption is explained by the daemon's stop, by the look-up, or by the agent's exit`() {
    var turn = Turn(prompt)
    turn.why = "killed"
    var life = MessageLifecycle(.running)
    #expect(turn.interruption(of: life) == "The agent ended unexpectedly (killed).")
    life.take(.shutDown)
    #expect(turn.interruption(of: life).hasPrefix("pi-relayd was stopped"))
    var evidence = MessageLifecycle.Evidence()
    evidence.mayHaveBeenTaken = true
    #expect(turn.interruption(of: MessageLifecycle(.verifying, evidence)) == "killed")
  }
}
