import RelayConcurrency
import RelayConfig
import SessionStates
import TestSupport
import Testing

@testable import Assistant
@testable import RelayModel

@Suite struct AdmissionControllerTests {
  let clock = ManualClock()
  let lines = Locked<[String]>([])

  private func queue(_ change: (inout Config.Assistant) -> Void = { _ in }) -> AdmissionController {
    var settings = Config.Assistant()
    change(&settings)
    return AdmissionController(
      settings, TimeSource(clock: clock), logger: .lines { [lines] line in lines.withLock { $0.append(line) } })
  }

  private func key(_ id: Int, in conversation: String = "c") -> MessageKey {
    MessageKey(conversation: ConversationKey(instance: "m", conversation: conversation), id: "\(id)")
  }

  @Test func `waiting messages are counted until they begin, and messages of an earlier daemon are not refused`() {
    let queue = queue { $0.maximumQueued = 2 }
    #expect(queue.admit(key(1), isKnown: false))
    #expect(queue.admit(key(2), isKnown: false))
    #expect(!queue.admit(key(3), isKnown: false))
    #expect(queue.admit(key(4), isKnown: true))
    for id in [1, 2] { queue.observe(.messageGiven(key(id), text: "")) }
    #expect(queue.admit(key(5), isKnown: false))
    queue.cancel(key(5))
    queue.observe(.messageDropped(MessageEnd(of: key(4), .withdrawn)))
    #expect(queue.health(sessions: 2).contains("queue 0, oldest 0 s; 2 session(s), 2 at work; 0 timed out"))
  }

  @Test func `latencies are computed from the last answers of each conversation`() {
    let queue = queue { $0.latencyWindow = 100 }
    for id in 1...150 {
      _ = queue.admit(key(id), isKnown: false)
      queue.observe(.messageGiven(key(id), text: ""))
      clock.advance(by: .milliseconds(id))
      queue.observe(.runEnded(MessageEnd(of: key(id), .ran), .completed))
    }
    // 51 … 150: the smallest value that the share is not above.
    #expect(queue.health(sessions: 1).contains("m:c: 100 answer(s), p50 100 ms, p95 145 ms, p99 149 ms"))
    #expect(lines.withLock { $0.last } == "m:c: assistant: answered: waited 0 s, took 150 ms in all")
    queue.forget([key(1).conversation])
    #expect(!queue.health(sessions: 0).contains("m:c"))
  }

  @Test func `the oldest waiting message and the messages that took too long are reported`() {
    let queue = queue()
    _ = queue.admit(key(1), isKnown: false)
    clock.advance(by: .milliseconds(700))
    _ = queue.admit(key(2), isKnown: false)
    queue.observe(.messageGiven(key(2), text: ""))
    queue.observe(.timedOut(key(2), after: .seconds(1)))
    // Of a session that is no assistant's.
    queue.observe(.timedOut(key(9), after: .seconds(1)))
    #expect(queue.health(sessions: 1).contains("queue 1, oldest 700 ms; 1 session(s), 1 at work; 1 timed out"))
  }

  @Test(arguments: ["HEARTBEAT_OK", " `HEARTBEAT_OK`.\n", ""])
  func `a heartbeat without findings is not shown`(_ answer: String) { #expect(PeriodicCheck.isAllWell(answer)) }

  @Test(arguments: ["HEARTBEAT_OK, but the disk is full", "The disk is full."])
  func `a heartbeat with findings is shown`(_ answer: String) { #expect(!PeriodicCheck.isAllWell(answer)) }
}
