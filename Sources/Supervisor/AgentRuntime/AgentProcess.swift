package import ProcessSupervision
internal import RelayConcurrency

/// The process that an agent runs in: a child of the daemon's, or one that a person has started and that is only connected.
package enum AgentProcess: Sendable {
  case child(ChildProcess)
  case attached(AttachedProcess)

  package var pid: Int32 {
    switch self {
    case .child(let child): child.pid
    case .attached(let process): process.pid
    }
  }

  /// The kernel's start time, in clock ticks since boot.
  package var startTime: UInt64 {
    switch self {
    case .child(let child): child.startTime
    case .attached(let process): process.startTime
    }
  }

  /// A person's own process has ended, for the daemon, with its connection.
  package var hasEnded: Bool {
    switch self {
    case .child(let child): child.hasEnded
    case .attached(let process): process.hasEnded
    }
  }

  /// For the program that continues with a child; `nil` for a person's own process, which connects again by itself.
  package var handover: ChildProcess.Snapshot? {
    if case .child(let child) = self { child.handover } else { nil }
  }

  func onExit(_ tell: @escaping @Sendable (TerminationStatus) -> Void) {
    switch self {
    case .child(let child): child.onExit(tell)
    case .attached(let process): process.onEnd { tell(.disconnected) }
    }
  }

  /// Waits for the end; a child that does not end by itself is ended.
  package func tearDown(_ stages: [ChildProcess.Stage], clock: any Clock<Duration>) async -> TerminationStatus {
    switch self {
    case .child(let child): return await child.tearDown(stages, clock: clock)
    case .attached(let process):
      await process.end()
      return .disconnected
    }
  }
}

/// A process that a person has started. The daemon neither signals nor reaps it.
package final class AttachedProcess: Sendable {
  private enum State {
    case connected([@Sendable () -> Void])
    case ended
  }

  package let pid: Int32
  package let startTime: UInt64
  private let state = Locked(State.connected([]))

  package init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  var hasEnded: Bool { state.withLock { if case .ended = $0 { true } else { false } } }

  /// Notes that the connection is over.
  func noteEnd() {
    let waiting: [@Sendable () -> Void] = state.withLock { state in
      guard case .connected(let waiting) = state else { return [] }
      state = .ended
      return waiting
    }
    for tell in waiting { tell() }
  }

  /// Calls `tell` once the connection is over; at once if it is.
  func onEnd(_ tell: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      guard case .connected(let waiting) = state else { return true }
      state = .connected(waiting + [tell])
      return false
    }
    if isOver { tell() }
  }

  func end() async {
    await withCheckedContinuation { continuation in onEnd { continuation.resume() } }
  }
}
