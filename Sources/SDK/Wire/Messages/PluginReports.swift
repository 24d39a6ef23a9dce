public import RelayJSON

/// `problem.report`: the problem that keeps a running plugin from its work, for `pi-relayd status` and the log.
public struct ProblemReport: WireRequest, Equatable {
  public static let method = "problem.report"
  public typealias Reply = Empty
  /// The host shows this many bytes of UTF-8 and cuts the rest: a long report is better than none.
  public static let maximumBytes = 4 * 1024

  /// The problem and the remedy, in words for the person; `nil` once it is over. The host forgets it when the plugin's
  /// process ends.
  public var problem: String?

  public init(problem: String?) { self.problem = problem }
}

/// `state.save`: keeps a small value that comes back at the next `initialize`.
public struct StateSave: WireRequest, Equatable {
  public static let method = "state.save"
  public typealias Reply = Empty
  /// Largest state, encoded, in bytes.
  public static let maximumBytes = 256 * 1024

  /// Any JSON value, at most `maximumBytes` when encoded: the host answers `invalidParams` to more.
  public var state: JSONValue

  public init(state: JSONValue) { self.state = state }
}
