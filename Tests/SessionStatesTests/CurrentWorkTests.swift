import PiRPC
import ProcessSupervision
import RelayWire
import Testing

@testable import RelayModel
@testable import SessionStates

@Suite struct CurrentWorkTests {
  private func prompt(_ id: String) -> Prompt {
    Prompt(
      key: MessageKey(conversation: ConversationKey(instance: "fake/default", conversation: "c1"), id: id), text: id,
      typed: id, life: MessageLifecycle(.dispatched))
  }

  private func work(given: Bool = true) -> CurrentWork {
    var work = CurrentWork()
    work.begin(prompt("1"), now: .zero)
    work.run?.isGiven = given
    return work
  }

  @Test func `an earlier run's name finds no later run`() {
    var work = work()
    let first = work.generation
    #expect(work.run(first)?.prompt.key.id == "1")
    work.finish()
    #expect(work.run(first) == nil)
    work.begin(prompt("2"), now: .zero)
    #expect(work.run(first) == nil && work.run(work.generation)?.prompt.key.id == "2")
  }

  @Test func `a quiet moment ends only the run in which it began, and only without later events`() {
    var work = work()
    let stale = work.beginQuietMoment()
    work.finish()
    work.begin(prompt("2"), now: .zero)
    work.run?.isGiven = true
    work.endQuietMoment(stale)
    #expect(!work.hasReportedEnd)
    let interrupted = work.beginQuietMoment()
    _ = work.take(.agentStart, settles: false)
    work.endQuietMoment(interrupted)
    #expect(!work.hasReportedEnd)
    let quiet = work.beginQuietMoment()
    work.endQuietMoment(quiet)
    #expect(work.hasReportedEnd)
  }

  @Test func `before a message is given only the agent's exit ends its run`() {
    var work = work(given: false)
    work.reportEnd(.ended(.completed))
    #expect(!work.hasReportedEnd)
    work.reportEnd(.died(.exited(1), nil))
    #expect(work.hasReportedEnd)
    work.forgetEnd()
    #expect(!work.hasReportedEnd)
  }

  @Test func `an end reaches its waiter once, whichever comes first`() async {
    var early = work()
    early.reportEnd(.ended(.completed))
    guard case .ended(.completed) = await withCheckedContinuation({ early.awaitEnd($0) }) else {
      Issue.record("another end")
      return
    }
    var late = work()
    let ending = await withCheckedContinuation { continuation in
      late.awaitEnd(continuation)
      #expect(late.isEndAwaited)
      late.reportEnd(.ended(.aborted))
      // Nobody waits for a second one: it stays for the next who asks.
      late.reportEnd(.ended(.completed))
    }
    guard case .ended(.aborted) = ending else {
      Issue.record("another end")
      return
    }
    #expect(late.hasReportedEnd && !late.isEndAwaited)
  }

  @Test func `a stop reaches the run or the compaction in progress`() {
    var work = CurrentWork()
    #expect(work.stop() == .nothing)
    work.beginCompaction()
    #expect(!work.isCompactionStopped && work.stop() == .compaction && work.isCompactionStopped)
    work.finish()
    #expect(work.isNothing && !work.isCompactionStopped)
    work.begin(prompt("1"), now: .zero)
    #expect(work.stop() == .run && work.run?.aborting == true)
  }

  @Test func `a run can be changed in place, and neither begun nor ended so`() {
    var work = work()
    work.run = nil
    #expect(work.run != nil)
    work.finish()
    work.run = SessionRun(prompt: prompt("2"))
    #expect(work.run == nil)
  }
}
