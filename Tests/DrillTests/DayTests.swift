import RelayConcurrency
import RelayHome
import RelayStore
import RelayWire
import TestSupport
import Testing

@testable import Drills
@testable import RelayModel

@Suite(.serialized, .timeLimit(.minutes(1))) struct DayTests {
  @Test func `a day goes on when its reply comes after the question was withdrawn`() async throws {
    try await RelayFixture.run(
      config: KillDrill.config, capabilities: KillDrill.capabilities(.keys), startsDaemon: false
    ) { relay in
      let day = Day("c1", lines: [Day.Line(number: 1, kind: .words, tag: "<c1.1>", isFollowed: false)])
      try await leave(day.lines[0], relay)
      try await relay.start()
      await relay.messenger.waitForText("It is not known whether the agent took this message")
      let finished = Locked<Task<Void, any Error>?>(nil)
      // The reply waits for the next daemon, which asks only once its agent has started.
      try await relay.killAndStart {
        finished.withLock { $0 = Task { try await day.finish(day.lines, with: relay.messenger) } }
      }
      let task = try #require(finished.withLock { $0 })
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
      #expect(await relay.messenger.outcomes["<c1.1>"] == .stopped)
      let replies = await relay.messenger.outcomes.filter { $0.key.hasPrefix("<c1.1>r") }
      #expect(replies.count == 2 && replies.values.contains(.answered), "\(replies)")
    }
  }

  /// Leaves a message as a daemon that was killed leaves it: nothing proves whether the agent took it.
  private func leave(_ line: Day.Line, _ relay: RelayFixture) async throws {
    let key = MessageKey(
      conversation: ConversationKey(instance: "fake/default", conversation: "c1"), id: line.tag)
    let message = MessageReceived(
      id: key.id, conversation: Conversation(id: "c1", kind: .dm), sender: Sender(id: "u1", name: "Ann"),
      text: line.text)
    let store = try SQLiteStore(path: relay.home.database)
    #expect(try await store.accept(StoredMessage(key: key, message: message), state: nil))
    try await store.advance(key, StageChange(.dispatching(after: .unknown)), in: "earlier")
    await store.close()
  }
}
