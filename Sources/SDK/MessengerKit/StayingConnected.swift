internal import RelayConcurrency
internal import RelayTransport

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

/// Connects to a service again and again: a `Reconnection` that tells the time and waits.
public enum StayingConnected {
  /// Runs until cancelled.
  ///
  /// - Parameters:
  ///   - pauseAfterRefusal: the pause after an ending that only a person can resolve.
  ///   - report: told of each end of a connection before the pause; throws to give up.
  ///   - connect: connects, calls `isOfUse` once the service has accepted the connection, and returns when it has ended. It may throw
  ///     a `ConnectionEnding` as well. That the service is there again, it tells the person itself.
  /// - Throws: what `report` throws, what `connect` throws besides, or `CancellationError`.
  public static func run(
    pauseAfterRefusal: Duration = .seconds(600), report: @Sendable (Reconnection.Step) async throws -> Void,
    _ connect: @Sendable (_ isOfUse: @escaping @Sendable () -> Void) async throws -> ConnectionEnding
  ) async throws {
    let now = LoopClock.shared.reading
    var reconnection = Reconnection(now: now(), pauseAfterRefusal: pauseAfterRefusal)
    while true {
      let usefulSince = Locked<Duration?>(nil)
      let ending: ConnectionEnding
      do {
        ending = try await connect { usefulSince.withLock { $0 = $0 ?? now() } }
      } catch let end as ConnectionEnding {
        ending = end
      }
      try Task.checkCancellation()
      let lasted = usefulSince.withLock { $0 }.map { now() - $0 }
      let step = reconnection.next(after: ending, lasted: lasted, now: now(), random: .random(in: 0...1))
      try await report(step)
      try await LoopClock.shared.sleep(for: step.pause)
    }
  }
}
