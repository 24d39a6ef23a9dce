package import RelayModel

/// The state of a session's agent: at most one process, which holds a slot. A pure value.
///
/// - Parameter Process: the connection to a process, compared by identity.
package enum AgentState<Process: AnyObject, Request, Slot> {
  /// A process with the slot that it holds.
  package struct Holder {
    package let process: Process
    package let slot: Slot
  }

  /// The step that brings an agent about.
  package enum Start {
    case running(Process)
    /// Wait until nothing is left of `predecessor`, then for a slot.
    case wait(Request, predecessor: Process?)
  }

  case stopped
  /// A predecessor is to exit, or a slot to become free.
  case waiting(Request)
  /// The process is being started; `nil` before it exists and after it has failed.
  case starting(Slot, Process?)
  case idle(Holder)
  case working(Holder)
  /// The supervisor asked for a compaction.
  case compacting(Holder)
  /// The process was told to exit. The next one waits for it, since two writers would fork pi's session file.
  case leaving(Process)

  package var activity: SessionStatus.Activity {
    switch self {
    case .stopped, .leaving: .asleep
    case .waiting, .starting: .starting
    case .idle: .idle
    case .working: .working
    case .compacting: .compacting
    }
  }

  /// The process that the session talks to.
  package var process: Process? {
    switch self {
    case .stopped, .waiting, .leaving: nil
    case .starting(_, let process): process
    case .idle(let holder), .working(let holder), .compacting(let holder): holder.process
    }
  }

  package var isIdle: Bool { if case .idle = self { true } else { false } }

  package var isCompacting: Bool { if case .compacting = self { true } else { false } }

  // MARK: - Starting

  /// - Parameters:
  ///   - request: cancels the wait for a slot, which begins now.
  ///   - hasEnded: whether a process has exited.
  package mutating func beginStart(_ request: Request, hasEnded: (Process) -> Bool) -> Start {
    if let process, !hasEnded(process) { return .running(process) }
    var predecessor = process
    if case .leaving(let process) = self { predecessor = process }
    self = .waiting(request)
    return .wait(request, predecessor: predecessor)
  }

  /// The request of the wait for a slot.
  package var request: Request? { if case .waiting(let request) = self { request } else { nil } }

  package mutating func acquired(_ slot: Slot) { self = .starting(slot, nil) }

  package mutating func launched(_ process: Process) {
    if case .starting(let slot, _) = self { self = .starting(slot, process) }
  }

  /// The process has said that it is ready.
  package mutating func ready(_ process: Process) {
    switch self {
    case .starting(let slot, let current?) where current === process:
      self = .idle(Holder(process: process, slot: slot))
    // It has answered and exited at once.
    case .starting(_, nil): self = .stopped
    case .stopped, .waiting, .starting, .idle, .working, .compacting, .leaving: break
    }
  }

  /// The process did not become ready: its exit ends no run, as none has begun.
  package mutating func launchFailed(_ process: Process) {
    if case .starting(let slot, let current?) = self, current === process { self = .starting(slot, nil) }
  }

  /// No agent is being started any more.
  package mutating func startFailed() {
    switch self {
    case .waiting, .starting: self = .stopped
    case .stopped, .idle, .working, .compacting, .leaving: break
    }
  }

  /// Takes over a process that runs already.
  package mutating func adopt(_ process: Process, _ slot: Slot, isWorking: Bool) {
    let holder = Holder(process: process, slot: slot)
    self = isWorking ? .working(holder) : .idle(holder)
  }

  // MARK: - Working

  /// The agent has begun to work on the session's run.
  package mutating func runStarted() { if case .idle(let holder) = self { self = .working(holder) } }

  package mutating func runEnded() { if case .working(let holder) = self { self = .idle(holder) } }

  package mutating func compactionBegan() {
    switch self {
    case .idle(let holder), .working(let holder): self = .compacting(holder)
    case .stopped, .waiting, .starting, .compacting, .leaving: break
    }
  }

  package mutating func compactionEnded() { if case .compacting(let holder) = self { self = .idle(holder) } }

  // MARK: - Ending

  /// The process is told to exit.
  ///
  /// - Returns: the process and its slot; `nil` when there is none.
  package mutating func beginLeaving() -> Holder? {
    let holder: Holder
    switch self {
    case .stopped, .waiting, .leaving, .starting(_, nil): return nil
    case .starting(let slot, let process?): holder = Holder(process: process, slot: slot)
    case .idle(let one), .working(let one), .compacting(let one): holder = one
    }
    self = .leaving(holder.process)
    return holder
  }

  /// A process has exited.
  ///
  /// - Returns: false when it is not the one that the session talks to: that was accounted for.
  package mutating func exited(_ process: Process) -> Bool {
    guard self.process === process else { return false }
    if case .starting(let slot, _) = self { self = .starting(slot, nil) } else { self = .stopped }
    return true
  }
}
