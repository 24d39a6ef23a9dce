import PiRPC
import RelayJSON
import RelayStore
import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import SessionStates

@Suite struct SessionRunTests {
  private func prompt(_ id: String) -> Prompt {
    Prompt(
      key: MessageKey(conversation: ConversationKey(instance: "fake/default", conversation: "c1"), id: id), text: id,
      typed: id)
  }

  private func run(steering ids: String...) -> SessionRun {
    var first = prompt("first")
    first.life = MessageLifecycle(.dispatched)
    var run = SessionRun(prompt: first)
    #expect(run.take(.messageStart(role: "user", text: "first"), settles: true) == .takesMessage)
    run.prompt.life.take(.userMessageSeen)
    for id in ids {
      var steered = prompt(id)
      steered.life.take(.steered)
      run.steer(steered, text: id)
    }
    return run
  }

  @Test
  func `a run belongs to the person of its message, and a terminal's also to the first who writes from elsewhere`() {
    func message(_ id: String, at instance: String, by author: String?) -> Prompt {
      var prompt = prompt(id)
      prompt.key.conversation.instance = instance
      prompt.author = author.map { Prompt.Author(id: $0, name: $0.uppercased()) }
      return prompt
    }
    func requester(_ person: String, at instance: String = "fake/default") -> TurnOrigin {
      let place = ConversationKey(instance: instance, conversation: "c1")
      return .remote(Requester(conversation: place, person: person), name: person.uppercased())
    }
    var run = SessionRun(prompt: message("1", at: "fake/default", by: "ann"))
    run.steer(message("2", at: "other/default", by: "bob"), text: "2")
    #expect(run.origin == requester("ann"))
    var local = SessionRun(prompt: message("1", at: "attached/terminal-1", by: "me"))
    local.steer(message("2", at: "attached/terminal-2", by: "me"), text: "2")
    #expect(local.origin == .local)
    for person in ["bob", "ann"] { local.steer(message(person, at: "fake/default", by: person), text: person) }
    #expect(local.origin == requester("bob"))
    // The words that the run has taken stay part of it.
    _ = local.removeSteering()
    #expect(local.origin == requester("bob"))
    #expect(SessionRun(prompt: message("1", at: "fake/default", by: nil)).origin == .nobody)
  }

  @Test func `the error of the agent's command that the message calls is the end of the message`() {
    func end(of text: String, after error: String) -> RunEnd {
      var prompt = prompt("1")
      prompt.text = text
      var run = SessionRun(prompt: prompt)
      _ = run.take(.extensionError(path: error, message: "out of pears"), settles: true)
      return run.endWithoutRun
    }
    #expect(end(of: "/throw it", after: "command:throw") == .failed("The agent's command /throw failed: out of pears"))
    #expect(end(of: "/throw", after: "command:throw") == .failed("The agent's command /throw failed: out of pears"))
    #expect(end(of: "/thrower", after: "command:throw") == .handled)
    #expect(end(of: "throw", after: "command:throw") == .handled)
    #expect(end(of: "/throw", after: "/extensions/throw.ts") == .handled)
  }

  @Test func `the end of a run that was begun in a terminal is not that of the message which waits behind it`() {
    var first = prompt("first")
    first.life = MessageLifecycle(.dispatched)
    var run = SessionRun(prompt: first)
    for settles in [true, false, nil] {
      #expect(run.take(.agentEnd(willRetry: nil), settles: settles) == .goesOn)
      #expect(run.take(.agentSettled, settles: settles) == .goesOn)
    }
    #expect(run.take(.agentStart, settles: true) == .goesOn)
    #expect(run.take(.messageStart(role: "user", text: "first"), settles: true) == .takesMessage)
    #expect(run.take(.agentSettled, settles: true) == .over(.completed))
  }

  @Test func `a message of an extension is not taken for one that was steered into the run`() {
    var run = run(steering: "a", "b")
    _ = run.take(.messageStart(role: "user", text: "an extension's words"), settles: true)
    #expect(run.takeTaken().isEmpty)
    _ = run.take(.messageStart(role: "user", text: "b"), settles: true)
    let taken = run.takeTaken()
    #expect(taken.map(\.key.id) == ["b"] && taken.map(\.stage) == [.settled])
    // The agent ends: the unknown message may have been the first, changed by an extension.
    let left = run.removeSteering()
    #expect(left.map(\.prompt.key.id) == ["a"] && left.map(\.mayBeTaken) == [true])
  }

  @Test func `messages that an extension has changed count as taken when the run ends by itself`() {
    var run = run(steering: "a", "b", "c")
    for text in ["transformed: a", "transformed: b"] {
      _ = run.take(.messageStart(role: "user", text: text), settles: true)
    }
    run.creditUnknownUserMessages()
    #expect(run.takeTaken().map(\.key.id) == ["a", "b"])
    #expect(run.removeSteering().map(\.mayBeTaken) == [false])
  }

  @Test func `steering messages wait after a run without them, but for those that were taken back`() {
    var run = run(steering: "a", "b", "c")
    _ = run.take(.messageStart(role: "user", text: "transformed"), settles: true)
    let isSteered = run.withdrawSteering(prompt("b").key)
    #expect(isSteered)
    let left = SessionRun.Requeued(run.removeSteering())
    // The first may be with the agent: that stays stored, until the transcript tells.
    #expect(left.waiting.map(\.prompt.key.id) == ["a", "c"])
    #expect(left.waiting.map(\.change?.stage) == [nil, .received])
    #expect(left.waiting.map(\.prompt.life.state) == [.queued, .queued])
    #expect(left.waiting.map(\.prompt.life.evidence.mayHaveBeenTaken) == [true, false])
    #expect(left.notTaken == [MessageEnd(of: prompt("b").key, .notTaken)])
  }

  @Test func `an accepted run of an earlier daemon is read, which stored that fact twice`() throws {
    var accepted = prompt("1")
    accepted.life = MessageLifecycle(.running)
    let written = String(decoding: try JSONCoding.encode(SessionRun(prompt: accepted)), as: UTF8.self)
    let earlier = "{\"accepted\":true," + written.dropFirst()
    #expect(try JSONCoding.decode(SessionRun.self, from: Array(earlier.utf8)).isAccepted)
  }

  @Test func `the limit on a run's time continues over an upgrade`() {
    var run = SessionRun(prompt: prompt("1"), began: .seconds(100))
    #expect(run.timeLeft(of: .seconds(60), now: .seconds(120)) == .seconds(40))
    // The next process has a clock of its own.
    run = run.handedOver(now: .seconds(130))
    run.adopt(now: .seconds(5))
    #expect(run.timeLeft(of: .seconds(60), now: .seconds(5)) == .seconds(30))
    run = run.handedOver(now: .seconds(25))
    run.adopt(now: .zero)
    #expect(run.timeLeft(of: .seconds(60), now: .seconds(20)) == .zero)
  }
}
