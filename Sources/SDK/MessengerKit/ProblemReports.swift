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

  /// Reports a problem and its remedy; `nil` reports that it is over. A repeated report is not sent again.
  public func tell(_ problem: String?) async {
    guard problem != current else { return }
    current = problem
    host.log(problem ?? "the problem is over")
    do { try await host.report(problem: problem) } catch { host.log("this could not be reported: \(error)") }
  }

  /// Tells of several things that are in the way at once; none once nothing is.
  public func tell(all problems: [String]) async {
    await tell(problems.isEmpty ? nil : problems.joined(separator: "; "))
  }

  /// Reports a problem that only a person can fix, and how to try again after that.
  ///
  /// - Parameter pause: the time until the next try without the person.
  public func tellRefusal(_ words: String, again pause: Duration) async {
    await tell(
      "\(words). Tried again in \(pause.forPeople); at once with: pi-relayd plugins restart \(host.about.instance)")
  }
}
