import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import SessionStates

@Suite struct PromptQueueTests {
  private func prompt(_ id: String, instance: String = "fake/default", mayHaveBeenTaken: Bool = false) -> Prompt {
    let stage: MessageStage = mayHaveBeenTaken ? .dispatching(session: "s", after: .unknown) : .received
    var life = MessageLifecycle(restoring: stage, isWithdrawn: false)
    life.take(.foundAfterRestart)
    if !mayHaveBeenTaken { life = MessageLifecycle() }
    return Prompt(
      key: MessageKey(conversation: ConversationKey(instance: instance, conversation: "c1"), id: id), text: id,
      typed: id, life: life)
  }

  private func queue(_ prompts: Prompt...) -> PromptQueue {
    var queue = PromptQueue()
    for prompt in prompts { _ = queue.enqueue(prompt, limit: .max) }
    return queue
  }

  @Test func `a full queue refuses a new message, and takes one that was accepted before`() {
    var queue = queue(prompt("1"))
    #expect(queue.enqueue(prompt("2"), limit: 1) == false)
    #expect(queue.enqueue(prompt("3", mayHaveBeenTaken: true), limit: 1) == true)
    #expect(queue.keys.map(\.id) == ["1", "3"])
  }

  @Test func `messages that come back keep their order, in front of the others`() {
    var queue = queue(prompt("3"))
    var returned: [Prompt] = []
    var other = self.queue(prompt("1"), prompt("2"))
    while case .prompt(let prompt)? = other.popFirst() { returned.append(prompt) }
    queue.prepend(returned)
    #expect(queue.keys.map(\.id) == ["1", "2", "3"])
  }

  @Test func `a waiting message takes an edit once, and is withdrawn`() {
    var queue = queue(prompt("1"))
    let key = prompt("1").key
    #expect(queue.replace(key, text: "new", typed: "new") == .done)
    #expect(queue.replace(key, text: "new", typed: "new") == .unchanged)
    #expect(queue.withdraw(key) == .done(MessageEnd(of: key, .withdrawn)))
    #expect(queue.isEmpty && queue.withdraw(key) == nil && queue.replace(key, text: "", typed: "") == nil)
  }

  @Test func `a message that the agent may have is neither edited nor withdrawn, and stays`() {
    let taken = prompt("1", mayHaveBeenTaken: true)
    var queue = queue(taken)
    #expect(queue.replace(taken.key, text: "new", typed: "new") == .tooLate)
    #expect(queue.withdraw(taken.key) == .tooLate)
    // It ends only if it turns out not to have arrived.
    guard case .prompt(let left)? = queue.popFirst() else {
      Issue.record("it is gone")
      return
    }
    #expect(left.text == "1" && left.life.evidence.isWithdrawn)
  }

  @Test func `only the messages of an instance that is gone are dropped`() {
    var queue = queue(prompt("1", instance: "terminal/1"), prompt("2"), prompt("3", instance: "terminal/1"))
    queue.enqueue(PromptQueue.Compaction(instructions: nil) { _ in })
    #expect(queue.removeAll { $0.instance == "terminal/1" }.map(\.key.id) == ["1", "3"])
    #expect(queue.keys.map(\.id) == ["2"] && queue.count == 2 && queue.hasCompaction)
  }
}
