internal import RelayConcurrency

/// The end of a connection to a service, or the reason why there was none.
public struct ConnectionEnding: Error, Sendable, Equatable, CustomStringConvertible {
  /// The reason, for the person.
  public var words: String
  /// Reports that only a person can resolve it, as a password that is refused: it is tried again rarely.
  public var isRefusal: Bool
  /// The time for which the service may be of no use before the person is told; zero for at once. A service that ends good
  /// connections now and then gets a minute or so.
  public var grace: Duration
  /// The pause that the service asks for before the next connection; longer ones follow from other rules.
  public var minimumPause: Duration

  public var description: String { words }

  /// - Parameters:
  ///   - words: worded to follow "not connected to …: ", or to stand alone.
  ///   - isRefusal: whether only a person can resolve it. Then `grace` counts for nothing.
  ///   - grace: the time without use before the person is told.
  ///   - minimumPause: the pause that the service asks for.
  public init(
    _ words: String, isRefusal: Bool = false, grace: Duration = .zero, minimumPause: Duration = .zero
  ) {
    self.words = words
    self.isRefusal = isRefusal
    self.grace = grace
    self.minimumPause = minimumPause
  }
}

/// Decides between two connections to a service how long to pause, and what the person is told. A pure value: time and chance
/// come from its caller.
///
/// Every way to lose a connection counts, so that a server that takes a connection and drops it at once is not asked a hundred
/// times a second.
public struct Reconnection: Sendable, Equatable {
  /// The part of an ending that the person is told.
  public enum Report: Sendable, Equatable {
    /// Nothing new: an earlier report stands until the connection is good again.
    case nothing
    /// The reason why the service is away.
    case problem(String)
    /// The reason why only the person can go on.
    case refusal(String)
  }

  /// The consequence of one ending.
  public struct Step: Sendable, Equatable {
    /// The pause before the next connection.
    public var pause: Duration
    /// The words for the person.
    public var report: Report
  }

  /// A connection that was of use for as long forgives what was before.
  static let goodAfter: Duration = .seconds(60)
  /// The first connection is replaced at once, within this time: a reconnect that the service has asked for loses nothing.
  static let firstPause: Duration = .milliseconds(500)

  private let pauseAfterRefusal: Duration
  private var backoff = ExponentialBackoff(from: .seconds(1), to: .seconds(60), jitter: 0.5)
  private var isFirst = true
  /// The end of the last connection that was of use.
  private var awaySince: Duration

  /// - Parameters:
  ///   - now: the time since some fixed moment, as for `next`.
  ///   - pauseAfterRefusal: the pause after an ending that only a person can resolve.
  public init(now: Duration, pauseAfterRefusal: Duration) {
    awaySince = now
    self.pauseAfterRefusal = pauseAfterRefusal
  }

  /// Takes the end of a connection. The pause is at most half a second the first time, then 0.5 to 1 s, doubling to a minute.
  ///
  /// - Parameters:
  ///   - lasted: how long the connection was of use; `nil` when it never was.
  ///   - now: the time since some fixed moment.
  ///   - random: 0…1, drawn anew each time, so that many clients do not come back together.
  public mutating func next(
    after ending: ConnectionEnding, lasted: Duration?, now: Duration, random: Double
  ) -> Step {
    if lasted != nil { awaySince = now }
    if let lasted, lasted >= Self.goodAfter {
      backoff.reset()
      isFirst = true
    }
    if ending.isRefusal { return Step(pause: pauseAfterRefusal, report: .refusal(ending.words)) }
    let pause = isFirst ? Self.firstPause * random : backoff.next(random: random)
    isFirst = false
    return Step(
      pause: max(pause, ending.minimumPause),
      report: now - awaySince >= ending.grace ? .problem(ending.words) : .nothing)
  }
}
