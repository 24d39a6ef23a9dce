internal import RelayWire

/// The checks of a plugin that starts again: with the state that it saved, and after a host that ended too early.
struct CatchUpChecks {
  let subject: ConformanceSubject
  let report: ConformanceReport

  /// The time in which a plugin that started hands over what it has.
  private static let settling: Duration = .seconds(2)
  private static let renamed = "hands over no message again under another id"
  private static let resumed = "hands over unanswered messages again"
  private static let putOff = "sends messages again that were answered with -32001"
  private static let goneOn = "continues after the last message of its state"

  private var host: ConformanceHost { subject.host }

  func run(isMessenger: Bool) async {
    let name = host.saved == nil ? "starts again" : "starts again with the state that it saved"
    subject.isTrying(name)
    let problem = await startsAgain()
    report.note(name, .state, problem)
    guard problem == nil, isMessenger else { return await subject.kill() }
    guard host.hasReceived else {
      await subject.kill()
      return report.skip("catches up after a restart", because: "it handed over no message during the check")
    }
    _ = await wait(Self.settling) { host.renaming != nil }
    await subject.kill()
    report.note("gives each message an id of its own", .received, host.mixUp)
    report.note(Self.renamed, .received, host.renaming)
    guard host.renaming == nil, host.mixUp == nil else {
      return report.skip("\(Self.resumed); \(Self.putOff)", because: "its ids are not reliable")
    }
    await catchUp()
  }

  /// Starts as after an orderly end: with the state that the plugin saved.
  private func startsAgain() async -> String? {
    if let problem = await subject.startAgain(with: host.saved) { return problem }
    do {
      return try await ConformanceAsking(subject: subject).ask(Ping())
    } catch ConformanceStop.givenUp {
      return nil
    } catch let stop as ConformanceStop {
      return await subject.explain(stop)
    } catch {
      return "\(error)"
    }
  }

  /// As after a power cut in which the host had stored nothing yet.
  private func catchUp() async {
    let both = "\(Self.resumed); \(Self.putOff)"
    subject.isTrying(Self.resumed)
    host.forget()
    if let problem = await subject.startAgain(with: nil, .silent) {
      return report.note(Self.resumed, .received, problem)
    }
    _ = await wait(Self.settling) { false }
    let unanswered = host.left
    await subject.kill()
    guard !unanswered.isEmpty else {
      return report.skip(both, because: "it handed over no message when it was started without state")
    }
    if let problem = await subject.startAgain(with: host.saved, .busy) {
      return report.note(Self.resumed, .received, problem)
    }
    _ = await wait(ConformanceSuite.answerLimit) { unanswered.allSatisfy { host.arrivals[$0] != nil } }
    let missing = unanswered.filter { host.arrivals[$0] == nil }.min { $0.id < $1.id }
    report.note(Self.resumed, .received, missing.map(complaint))
    if missing == nil, let putOff = host.putOff {
      let isBack = await wait(ConformanceSuite.answerLimit) { host.arrivals[putOff, default: 0] > 1 }
      let fault = "message.received of \(putOff.id) was answered with -32001 and did not come again within 10 s"
      report.note(Self.putOff, .received, isBack ? nil : fault)
      guard isBack else { return await subject.kill() }
      await goOn(behind: putOff)
    } else {
      report.skip(Self.putOff, because: "messages did not come again at all")
      await subject.kill()
    }
  }

  /// As after a power cut between two messages: the one before is stored, with the state that came with it.
  private func goOn(behind last: ConformanceHost.Key) async {
    _ = await wait(Self.settling) { false }
    let unanswered = host.left
    await subject.kill()
    // A messenger that has one message, or hands over several at once, has nothing to skip.
    guard !unanswered.isEmpty else { return }
    subject.isTrying(Self.goneOn)
    if let problem = await subject.startAgain(with: host.saved) {
      return report.note(Self.goneOn, .received, problem)
    }
    _ = await wait(ConformanceSuite.answerLimit) { unanswered.allSatisfy { host.arrivals[$0] != nil } }
    let missing = unanswered.filter { host.arrivals[$0] == nil }.min { $0.id < $1.id }
    report.note(
      Self.goneOn, .received,
      missing.map {
        "message.received of \($0.id) had no answer, and did not come within 10 s of a start with the state of \(last.id)"
      })
    await subject.kill()
  }

  private func complaint(_ key: ConformanceHost.Key) -> String {
    host.renaming
      ?? "message.received of \(key.id) had no answer when the host ended, and did not come again within 10 s of the start"
  }

  /// - Returns: whether it came true within the limit.
  private func wait(_ limit: Duration, until isTrue: () -> Bool) async -> Bool {
    await Waiting.wait(limit, subject.launch.clock, until: isTrue)
  }
}
