internal import Glibc

/// How a child ended.
package enum TerminationStatus: Sendable, Hashable, CustomStringConvertible {
  case exited(Int32)
  case signaled(Int32)
  /// A process that is no child has closed its connection.
  case disconnected

  /// From `waitpid`'s status.
  init(status: Int32) {
    let signal = status & 0x7F
    self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signaled(signal)
  }

  package var description: String {
    switch self {
    case .exited(let code): "exit code \(code)"
    case .signaled(let signal): "signal \(signal) (\(String(cString: strsignal(signal))))"
    case .disconnected: "its connection was closed"
    }
  }
}
