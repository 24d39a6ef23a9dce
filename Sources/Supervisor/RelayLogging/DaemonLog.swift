package import Logging
internal import RelayConcurrency
internal import RelayTransport

/// The daemon's log: lines for its file and for standard error. Nobody waits for either: a full disk or a terminal that
/// has been stopped holds up nothing but its own lines.
package final class DaemonLog: Sendable {
  /// Lines that may wait for one of the two.
  static let maximumWaiting = 5_000

  private let file: Line
  private let terminal: Line
  private let threshold: Locked<Logger.Level>

  /// - Parameter say: writes to standard error.
  package init(file: LogFile, level: Logger.Level = .info, say: @escaping @Sendable (String) -> Void) {
    threshold = Locked(level)
    self.file = Line(loop: .logs) { file.write($0) }
    terminal = Line(loop: EventLoop(name: "relay-stderr"), say)
  }

  /// Lines below this level are left out.
  package var level: Logger.Level {
    get { threshold.withLock { $0 } }
    set { threshold.withLock { $0 = newValue } }
  }

  func write(_ line: LogLine) {
    file.write(line.text)
    terminal.write(line.terminalText)
  }

  /// Waits until every earlier line is written, at most for `limit`.
  package func flush(within limit: Duration, clock: any Clock<Duration>) async {
    for line in [file, terminal] {
      let done = Mailbox<Void>()
      line.loop.perform { done.post(()) }
      // A line that is not written by then is lost.
      try? await withDeadline(limit, clock: clock) { _ = await done.next() }
    }
  }

  /// A destination of the log: the file or the terminal.
  private final class Line: Sendable {
    let loop: EventLoop
    private let out: @Sendable (String) -> Void
    private let counts = Locked((waiting: 0, lost: 0))

    init(loop: EventLoop, _ out: @escaping @Sendable (String) -> Void) {
      self.loop = loop
      self.out = out
    }

    func write(_ text: String) {
      let isTaken = counts.withLock { counts in
        if counts.waiting >= DaemonLog.maximumWaiting {
          counts.lost += 1
          return false
        }
        counts.waiting += 1
        return true
      }
      guard isTaken else { return }
      loop.perform { [self] in
        let lost = counts.withLock { counts in
          counts.waiting -= 1
          defer { counts.lost = 0 }
          return counts.lost
        }
        if lost > 0 { out("[\(lost) lines were left out: they came faster than they could be written]") }
        out(text)
      }
    }
  }
}
