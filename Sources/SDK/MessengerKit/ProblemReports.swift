public import PluginSDK
internal import RelayWire

/// Tells the person what keeps the messenger from its work, in `pi-relayd status` and the log, and that it is over: each once.
public actor ProblemReports {
  private let host: Host
  /// The problem that was reported last; `nil` once it is over.
  public private(set) var current: String?

  /// Made in the plugin's `init`, it goes with the answer to the host.
  ///
  /// - Parameter problem: in the way from the beginning: a messenger that has yet to connect is not shown to be well.
  public init(_ host: Host, beginningWith problem: String?) {
    self.host = host
    current = problem
    host.begin(with: problem)
  }

  /// Tells what is in the way and what to do about it; nil once nothing is. What was told last is not told again.
  public func tell(_ problem: String?) async {
    guard problem != current else { return }
    current = problem
    host.log(problem ?? "nothing is in the way any more")
    do { try await host.report(problem: problem) } catch { host.log("this could not be reported: \(error)") }
  }

  /// Tells of several things that are in the way at once; none once nothing is.
  public func tell(all problems: [String]) async {
    await tell(problems.isEmpty ? nil : problems.joined(separator: "; "))
  }

  /// Tells of something that only a person can mend, and how to have it tried again.
  ///
  /// - Parameter pause: after which it is tried again by itself.
  public func tellRefusal(_ words: String, again pause: Duration) async {
    await tell(
      "\(words). Tried again in \(pause.forPeople); at once with: pi-relayd plugins restart \(host.about.instance)")
  }

  /// Tells what the end of a connection means. Words that stand for a service's absence follow "not connected to SERVICE: ".
  ///
  /// - Parameter service: its name; `nil` for words that stand alone.
  public func take(_ step: Reconnection.Step, of service: String? = nil) async {
    func told(_ words: String) -> String { service.map { "not connected to \($0): \(words)" } ?? words }
    switch step.report {
    case .nothing: break
    case .problem(let words): await tell(told(words))
    case .refusal(let words): await tellRefusal(told(words), again: step.pause)
    }
  }
}
