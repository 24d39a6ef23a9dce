internal import RelayConcurrency

/// Arrivals of one connection, handled in their order while more of them are read.
public enum Arrivals {
  /// Runs until the connection has ended and every arrival has been handled: only then may the next connection ask for what
  /// follows.
  ///
  /// - Parameters:
  ///   - read: reads until the connection ends, posts each arrival, and returns the ending; cancelled when an arrival cannot be
  ///     handled. Arrivals that wait are in memory, without a limit.
  ///   - handle: handles one arrival, in the order in which they were posted.
  /// - Returns: the ending that `read` returned.
  /// - Throws: the error of `handle`, or `CancellationError`.
  public static func run<Item: Sendable, Ending: Sendable>(
    read: @escaping @Sendable (_ post: @escaping @Sendable (Item) -> Void) async -> Ending,
    handle: @escaping @Sendable (Item) async throws -> Void
  ) async throws -> Ending {
    let items = Mailbox<Item>()
    return try await withThrowingTaskGroup(of: Ending?.self) { group in
      group.addTask {
        while let item = await items.next() { try await handle(item) }
        return nil
      }
      group.addTask {
        defer { items.close() }
        return await read { _ = items.post($0) }
      }
      var ending: Ending?
      while let one = try await group.next() { ending = one ?? ending }
      guard let ending else { throw CancellationError() }
      return ending
    }
  }
}
