package import PiRPC
package import ProcessSupervision
package import RelayModel

/// The end of a run.
package enum RunEnding: Sendable {
  case ended(RunEnd)
  /// The agent exited, with its last words.
  case died(TerminationStatus, String?)
}

/// The work that a session has begun: a run or a compaction, never both. A pure value.
///
/// A caller that acts on a run after an `await` names it by its generation, so that nothing meant for one run reaches the
/// next.
package struct CurrentWork {
  /// Names one run of a session.
  package struct Generation: Sendable, Hashable {
    fileprivate var number = 0
  }

  /// Names a moment in which a run seemed to be over.
  package struct QuietMoment: Sendable, Hashable {
    fileprivate let generation: Generation
    fileprivate let number: Int
  }

  private enum Work {
    case nothing
    case run(SessionRun)
    case compaction(isStopped: Bool)
  }

  private enum End {
    case open
    case awaited(CheckedContinuation<RunEnding, Never>)
    /// It came before anybody waited for it.
    case reported(RunEnding)
  }

  private var work = Work.nothing
  private var end = End.open
  /// The generation of the run in progress, or of the last one.
  package private(set) var generation = Generation()
  /// Counts the signs that a run goes on, so that an old quiet moment does not end it.
  private var signsOfWork = 0

  package init() {}

  package var isNothing: Bool { if case .nothing = work { true } else { false } }

  /// The run in progress. It can be changed in place only: a run begins with `begin` and ends with `finish`.
  package var run: SessionRun? {
    get { if case .run(let run) = work { run } else { nil } }
    set { if let newValue, case .run = work { work = .run(newValue) } }
  }

  /// The run of a generation, while it is in progress.
  package func run(_ generation: Generation) -> SessionRun? { generation == self.generation ? run : nil }

  // MARK: - Beginning and finishing

  package mutating func begin(_ prompt: Prompt, now: Duration) { begin(SessionRun(prompt: prompt, began: now)) }

  /// Continues a run that an earlier process has handed over.
  package mutating func adopt(_ run: SessionRun, now: Duration) {
    var run = run
    run.adopt(now: now)
    begin(run)
  }

  private mutating func begin(_ run: SessionRun) {
    work = .run(run)
    generation.number += 1
    forgetEnd()
  }

  package mutating func beginCompaction() { work = .compaction(isStopped: false) }

  package var isCompactionStopped: Bool { if case .compaction(true) = work { true } else { false } }

  /// The work is over, or left to others.
  package mutating func finish() { work = .nothing }

  /// Stops the work: a step that has not reached the agent yet ends with this.
  package mutating func stop() -> StoppedWork {
    switch work {
    case .nothing: return .nothing
    case .run:
      run?.prompt.life.take(.aborted)
      return .run
    case .compaction:
      work = .compaction(isStopped: true)
      return .compaction
    }
  }

  // MARK: - The end of a run

  /// A run has ended, and its owner has not been told yet.
  package var hasReportedEnd: Bool { if case .reported = end { true } else { false } }

  /// The owner of the run waits for its end.
  package var isEndAwaited: Bool { if case .awaited = end { true } else { false } }

  /// An end that an earlier attempt has reported says nothing about the next one.
  package mutating func forgetEnd() { if hasReportedEnd { end = .open } }

  /// Resumes the waiter with the end of the run, at once if that was reported before.
  package mutating func awaitEnd(_ waiter: CheckedContinuation<RunEnding, Never>) {
    if case .reported(let ending) = end { waiter.resume(returning: ending) } else { end = .awaited(waiter) }
  }

  /// Reports the end of the run in progress.
  package mutating func reportEnd(_ ending: RunEnding) {
    // Before a message is written to pi only pi's exit ends its run: pi may work on something of its own.
    if case .ended = ending, run?.isGiven != true { return }
    if case .awaited(let waiter) = end {
      end = .open
      waiter.resume(returning: ending)
    } else if run != nil {
      end = .reported(ending)
    }
  }

  // MARK: - Events of the agent

  /// Takes an event; says whether the run is over.
  ///
  /// - Parameter settles: whether this pi says `agent_settled`; `nil` while unknown.
  package mutating func take(_ event: PiEvent, settles: Bool?) -> SessionRun.Verdict {
    if SessionRun.continues(event) { signsOfWork += 1 }
    return run?.take(event, settles: settles) ?? .goesOn
  }

  /// Begins a moment after which the run is over unless the agent shows that it goes on.
  package mutating func beginQuietMoment() -> QuietMoment {
    signsOfWork += 1
    return QuietMoment(generation: generation, number: signsOfWork)
  }

  /// Reports the end of the run if nothing has shown since that it goes on.
  package mutating func endQuietMoment(_ moment: QuietMoment) {
    guard moment.number == signsOfWork, let run = run(moment.generation) else { return }
    reportEnd(.ended(run.end))
  }
}
