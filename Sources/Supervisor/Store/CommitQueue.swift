internal import DequeModule
internal import RelayPipes

/// Writes of many callers, committed together: what arrives while one commit waits for the disk goes into the next.
///
/// After an error of the disk nothing more is written: the system may have dropped what it could not write, and would
/// report success from then on.
final class CommitQueue: Sendable {
  private protocol Pending: Sendable {
    /// Inside the transaction.
    func run(_ connection: SQLiteConnection)
    /// After it.
    func settle(_ failure: StoreError?)
  }

  private final class Write<Value: Sendable>: Pending {
    private let body: @Sendable (SQLiteConnection) throws -> Value
    private let done: @Sendable (Result<Value, any Error>) -> Void
    private let result = Locked<Result<Value, any Error>?>(nil)

    init(
      _ body: @escaping @Sendable (SQLiteConnection) throws -> Value,
      _ done: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      self.body = body
      self.done = done
    }

    func run(_ connection: SQLiteConnection) {
      // One that fails takes nothing of its neighbours with it.
      let value = Result { try connection.savepoint { try body(connection) } }
      result.withLock { $0 = value }
    }

    func settle(_ failure: StoreError?) {
      let value = result.withLock { $0 }
      if let failure { return done(.failure(failure)) }
      done(value ?? .failure(StoreError.closed))
    }
  }

  private struct State {
    var pending: Deque<any Pending> = []
    var isRunning = false
    var failure: StoreError?
    var isClosed = false
  }

  private static let largestBatch = 256

  /// Waits for the disk: nothing else runs there.
  private static let loop = EventLoop(name: "relay-store")

  private let connection: SQLiteConnection
  private let path: String
  private let state = Locked(State())

  /// - Parameter connection: used by nobody else from now on.
  init(_ connection: SQLiteConnection, path: String) {
    self.connection = connection
    self.path = path
  }

  /// Runs `body` in a transaction and returns when it is on the disk.
  @discardableResult
  func write<Value: Sendable>(_ body: @escaping @Sendable (SQLiteConnection) throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      add(Write(body) { continuation.resume(with: $0) })
    }
  }

  /// Like `write`, for who does not wait.
  func writeSoon(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Void, failed: @escaping @Sendable (any Error) -> Void
  ) {
    add(
      Write(body) { result in
        if case .failure(let error) = result { failed(error) }
      })
  }

  /// Takes nothing more; returns when what was taken is on the disk.
  func close() async {
    state.withLock { $0.isClosed = true }
    await withCheckedContinuation { continuation in Self.loop.perform { continuation.resume() } }
  }

  private func add(_ write: any Pending) {
    let (refusal, mustStart): (StoreError?, Bool) = state.withLock { state in
      if let failure = state.failure { return (failure, false) }
      if state.isClosed { return (.closed, false) }
      state.pending.append(write)
      defer { state.isRunning = true }
      return (nil, !state.isRunning)
    }
    if let refusal { write.settle(refusal) }
    if mustStart { Self.loop.perform { [self] in commitAll() } }
  }

  private func commitAll() {
    while true {
      let batch: [any Pending] = state.withLock { state in
        let batch = Array(state.pending.prefix(Self.largestBatch))
        state.pending.removeFirst(batch.count)
        if batch.isEmpty { state.isRunning = false }
        return batch
      }
      if batch.isEmpty { return }
      let failure = commit(batch)
      for write in batch { write.settle(failure) }
    }
  }

  private func commit(_ batch: [any Pending]) -> StoreError? {
    if let failure = state.withLock({ $0.failure }) { return failure }
    do {
      try connection.transaction { for write in batch { write.run(connection) } }
      return nil
    } catch {
      let failure = StoreError(error, path: path)
      if failure.isLasting { state.withLock { $0.failure = failure } }
      return failure
    }
  }
}
