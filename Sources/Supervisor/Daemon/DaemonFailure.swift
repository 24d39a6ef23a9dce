internal import RelayHome
import RelayTransport
import RelayWire

/// The reason why the daemon did not do what a command asked of it, and the next step.
struct DaemonFailure: Error, CustomStringConvertible {
  let description: String

  init(_ error: ConnectionError, _ surroundings: CommandLineEnvironment) {
    description =
      switch error {
      case .refused(let refusal) where refusal.code == .methodNotFound:
        Self.otherVersion(refusal.message, surroundings)
      case .unreadable: Self.otherVersion("\(error)", surroundings)
      case .timedOut: Self.hung("\(error)", surroundings.home)
      case .closed: "the daemon ended before it answered; see \(surroundings.home.daemonLog)"
      case .refused, .notSent: "\(error)"
      }
  }

  /// The daemon has taken longer for its end than an orderly end takes, or than the caller waits.
  init(notStoppedWithin limit: Duration, _ surroundings: CommandLineEnvironment) {
    let pid = DaemonLock.holder(surroundings.home)
    description =
      "the daemon\(pid.map { " (pid \($0))" } ?? "") has not stopped within \(limit.forPeople). "
      + "Its log: \(surroundings.home.daemonLog). Wait longer with: \(surroundings.command("stop --timeout 600"))"
      + (pid.map { ". If it hangs, end it with: kill -9 \($0)" } ?? "")
  }

  private static func otherVersion(_ detail: String, _ surroundings: CommandLineEnvironment) -> String {
    "the daemon that runs is of another version than this command, which is \(Product.version) (\(detail)). "
      + "Replace it with: \(surroundings.command("upgrade"))"
  }

  private static func hung(_ detail: String, _ home: HomeDirectory) -> String {
    let pid = DaemonLock.holder(home)
    return "the daemon\(pid.map { " (pid \($0))" } ?? "") does not respond: \(detail). Its log: \(home.daemonLog)"
      + (pid.map { ". If it hangs, end it with: kill -9 \($0)" } ?? "")
  }
}
