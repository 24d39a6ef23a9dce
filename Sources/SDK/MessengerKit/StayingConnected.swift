internal import RelayConcurrency
internal import RelayTransport

/// The reason why there is no connection to a service, or none any more.
public struct ConnectionEnding: Error, Sendable, Equatable, CustomStringConvertible {
  /// For the person.
  public var words: String
  /// Only a person can fix the reason, as a refused password: the connection is tried again rarely.
  public var isRefusal: Bool

  public var description: String { words }

  public init(_ words: String, isRefusal: Bool = false) {
    self.words = words
    self.isRefusal = isRefusal
  }
}

extension ConnectionEnding {
  /// Connects, within a minute.
  ///
  /// - Throws: `ConnectionEnding` in place of every error but `CancellationError`.
  public static func connecting<Connection: Sendable>(
    _ connect: @escaping @Sendable () async throws -> Connection
  ) async throws -> Connection {
    do {
      return try await withDeadline(.seconds(60), clock: LoopClock.shared, connect)
    } catch {
      if error is CancellationError || error is ConnectionEnding { throw error }
      throw ConnectionEnding(error is DeadlineExceeded ? "the server says nothing" : "\(error)")
    }
  }
}

/// Connects to a service again and again, and tells the person for as long as it is away.
public enum StayingConnected {
  /// The pause after a failure that only a person can fix.
  static let pauseAfterRefusal: Duration = .seconds(600)

  /// Runs until cancelled.
  ///
  /// - Parameters:
  ///   - service: the name of the service, for the person.
  ///   - life: connects and stays connected; returns the end of a connection that worked, and throws a
  ///     `ConnectionEnding` where there was none.
  /// - Throws: other errors of `life`, or `CancellationError`.
  public static func run(
    to service: String, _ problems: ProblemReports, _ life: @Sendable () async throws -> ConnectionEnding
  ) async throws {
    var backoff = ReconnectBackoff()
    while true {
      let began = LoopClock.shared.now
      var lasted: Duration?
      let ending: ConnectionEnding
      do {
        ending = try await life()
        lasted = began.duration(to: LoopClock.shared.now)
      } catch let end as ConnectionEnding {
        ending = end
      }
      var pause = backoff.next(after: lasted, jitter: .random(in: 0...1))
      let words = "not connected to \(service): \(ending.words)"
      if ending.isRefusal {
        pause = pauseAfterRefusal
        await problems.tellRefusal(words, again: pause)
      } else {
        await problems.tell(words)
      }
      try await LoopClock.shared.sleep(for: pause)
    }
  }
}
