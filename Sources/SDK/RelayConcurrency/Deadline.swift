/// A limit passed before the work was done.
package struct DeadlineExceeded: Error, Equatable {
  package init() {}
}

/// Runs `body`, cancelling it when `limit` passes on `clock` first. Nil means no limit.
///
/// - Throws: `DeadlineExceeded`, or what `body` throws.
package func withDeadline<Value: Sendable>(
  _ limit: Duration?, clock: any Clock<Duration>, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  guard let limit else { return try await body() }
  return try await withThrowingTaskGroup(of: Value?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await clock.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    guard let first = try await group.next(), let value = first else { throw DeadlineExceeded() }
    return value
  }
}
