internal import DequeModule
internal import GRDB
internal import RelayPipes

/// Writes of many callers, committed together: what arrives while one commit waits for the disk goes into the next.
///
/// After an error of the disk nothing more is written: the system may have dropped what it could not write, and would
/// report success from then on.
final class CommitQueue: Sendable {
  private protocol Pending: Sendable {
    /// Inside the transaction.
    func run(_ db: Database)
    /// After it.
    func settle(_ failure: StoreError?)
  }

  private final class Write<Value: Sendable>: Pending {
    private let body: @Sendable (Database) throws -> Value
    private let done: @Sendable (Result<Value, any Error>) -> Void
    private let result = Locked<Result<Value, any Error>?>(nil)

    init(
      _ body: @escaping @Sendable (Database) throws -> Value,
      _ done: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      self.body = body
      self.done = done
    }

    func run(_ db: Database) {
      var value: Result<Value, any Error>?
      do {
        // One that fails takes nothing of its neighbours with it.
        try db.inSavepoint {
          value = .success(try body(db))
          return .commit
        }
      } catch {
        value = .failure(error)
      }
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

  private let database: DatabasePool
  private let path: String
  private let state = Locked(State())

  init(_ database: DatabasePool, path: String) {
    self.database = database
    self.path = path
  }

  /// Runs `body` in a transaction and returns when it is on the disk.
  func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      add(Write(body) { continuation.resume(with: $0) })
    }
  }

  /// Like `write`, for who does not wait.
  func writeSoon(
    _ body: @escaping @Sendable (Database) throws -> Void, failed: @escaping @Sendable (any Error) -> Void
  ) {
    add(
      Write(body) { result in
        if case .failure(let error) = result { failed(error) }
      })
  }

  /// Takes nothing more.
  func close() {
    state.withLock { $0.isClosed = true }
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
    if mustStart { database.asyncWriteWithoutTransaction { [self] db in commitAll(db) } }
  }

  private func commitAll(_ db: Database) {
    while true {
      let batch: [any Pending] = state.withLock { state in
        let batch = Array(state.pending.prefix(Self.largestBatch))
        state.pending.removeFirst(batch.count)
        if batch.isEmpty { state.isRunning = false }
        return batch
      }
      if batch.isEmpty { return }
      let failure = commit(batch, db)
      for write in batch { write.settle(failure) }
    }
  }

  private func commit(_ batch: [any Pending], _ db: Database) -> StoreError? {
    if let failure = state.withLock({ $0.failure }) { return failure }
    do {
      try db.inTransaction(.immediate) {
        for write in batch { write.run(db) }
        return .commit
      }
      return nil
    } catch {
      let failure = StoreError(error, path: path)
      if failure.isLasting { state.withLock { $0.failure = failure } }
      return failure
    }
  }
}
