public import PluginSDK
internal import RelayWire

/// Reports what keeps the messenger from its work, and when that is over: each once, to `pi-relayd status` and the log.
public actor ProblemReports {
  private let host: Host
  /// The problem that was reported last; `nil` once it is over.
  public private(set) var current: String?

  /// Reports a first problem. In the plugin's `init` it goes with the handshake.
  ///
  /// - Parameter problem: the problem at the start: a messenger that has not connected yet must not be shown to be well.
  public init(_ host: Host, beginningWith problem: String?) {
    self.host = host
    current = problem
    host.begin(with: problem)
  }

  /// Reports a problem, in words that say what to do about it; `nil` once it is over. The problem that was reported last is not
  /// reported again. A failure to report goes to the log.
  public func tell(_ problem: String?) async {
    guard problem != current else { return }
    current = problem
    host.log(problem ?? "the problem is over")
    do { try await host.report(problem: problem) } catch { host.log("this could not be reported: \(error)") }
  }

  /// Reports several problems in one line; an empty list once they are over.
  public func tell(all problems: [String]) async {
    await tell(problems.isEmpty ? nil : problems.joined(separator: "; "))
  }

  /// Reports a problem that only a person can resolve, with the command that tries again.
  ///
  /// - Parameters:
  ///   - words: the problem, without a full stop.
  ///   - pause: the time after which the messenger tries again by itself.
  public func tellRefusal(_ words: String, again pause: Duration) async {
    await tell(
      "\(words). Tried again in \(pause.forPeople); at once with: pi-relayd plugins restart \(host.about.instance)")
  }

  /// Reports what follows from the end of a connection.
  ///
  /// - Parameter service: the service's name: the words then follow "not connected to SERVICE: ". `nil` for words that stand alone.
  public func take(_ step: Reconnection.Step, of service: String? = nil) async {
    func told(_ words: String) -> String { service.map { "not connected to \($0): \(words)" } ?? words }
    switch step.report {
    case .nothing: break
    case .problem(let words): await tell(told(words))
    case .refusal(let words): await tellRefusal(told(words), again: step.pause)
    }
  }
}
