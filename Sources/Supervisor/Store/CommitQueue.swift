internal import DequeModule
internal import RelayConcurrency
internal import RelayTransport

/// Writes of many callers, committed together: writes that arrive during a commit share the next one.
///
/// After an error of the disk nothing more is written: the system may have dropped unwritten data, and would report
/// success from then on.
final class CommitQueue: Sendable {
  private protocol Pending: Sendable {
    /// Runs inside the transaction; throws when the transaction cannot continue.
    ///
    /// - Parameter isAlone: the transaction contains nothing else.
    func run(_ connection: SQLiteConnection, _ path: String, isAlone: Bool) throws(StoreError)
    /// After it.
    func settle(_ failure: StoreError?)
  }

  private final class Write<Value: Sendable>: Pending {
    private let body: @Sendable (SQLiteConnection) throws -> Value
    private let done: @Sendable (Result<Value, any Error>) -> Void
    private let result = Locked<Result<Value, StoreError>>(.failure(.closed))

    init(
      _ body: @escaping @Sendable (SQLiteConnection) throws -> Value,
      _ done: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      self.body = body
      self.done = done
    }

    func run(_ connection: SQLiteConnection, _ path: String, isAlone: Bool) throws(StoreError) {
      // A write that fails undoes nothing of its neighbours, as far as SQLite allows.
      let value = Result { try isAlone ? body(connection) : connection.savepoint { try body(connection) } }
        .mapError { StoreError($0, path: path) }
      result.withLock { $0 = value }
      if case .failure(let error) = value, isAlone || error.isLasting || !connection.isInTransaction { throw error }
    }

    func settle(_ failure: StoreError?) {
      let value = result.withLock { $0 }
      done(failure.map { .failure($0) } ?? value.mapError { $0 })
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
  static let loop = EventLoop(name: "relay-store")

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
      write(body) { continuation.resume(with: $0) }
    }
  }

  /// The same for who does not wait. `then` is called on the queue's thread, in the order of the calls.
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value,
    then: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    add(Write(body, then))
  }

  /// The error after which nothing more is written.
  var failure: StoreError? { state.withLock { $0.failure } }

  /// Takes nothing more, because of this.
  func stop(after failure: StoreError) {
    state.withLock { state in
      if state.failure == nil { state.failure = failure }
    }
  }

  /// Looks at all pages. Called before anything is written, it keeps the queue's thread, so that every write waits for it.
  ///
  /// - Parameter damaged: called when nothing is written, with the reason.
  func check(damaged: @escaping @Sendable (StoreError) -> Void) {
    Self.loop.perform { [self] in
      do {
        try SQLiteStore.check(connection, path)
      } catch {
        let failure = StoreError(error, path: path)
        stop(after: failure)
        damaged(failure)
      }
    }
  }

  /// Takes nothing more; returns when what was taken is on the disk.
  func close() async {
    state.withLock { $0.isClosed = true }
    await withCheckedContinuation { continuation in
      Self.loop.perform { [self, connection] in
        commitAll()
        // One file then holds everything. If this fails, the log still has the data, and the next to open it continues
        // from there.
        try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        continuation.resume()
      }
    }
  }

  /// The same for what may as well be lost: it waits for a commit that somebody else needs.
  func writeAlong(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Void,
    then: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    add(Write(body, then), startsCommit: false)
  }

  private func add(_ write: any Pending, startsCommit: Bool = true) {
    let (refusal, mustStart): (StoreError?, Bool) = state.withLock { state in
      if let failure = state.failure { return (failure, false) }
      if state.isClosed { return (.closed, false) }
      state.pending.append(write)
      if !startsCommit, state.pending.count < Self.largestBatch { return (nil, false) }
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
      settle(batch)
    }
  }

  /// Commits what came together; where one of them ended the transaction for all, each alone.
  private func settle(_ batch: [any Pending]) {
    let failure = commit(batch)
    guard let failure, !failure.isLasting, batch.count > 1 else {
      for write in batch { write.settle(failure) }
      return
    }
    for write in batch { write.settle(commit([write])) }
  }

  private func commit(_ batch: [any Pending]) -> StoreError? {
    if let failure { return failure }
    do {
      try connection.transaction {
        for write in batch { try write.run(connection, path, isAlone: batch.count == 1) }
      }
      return nil
    } catch {
      let failure = StoreError(error, path: path)
      if failure.isLasting { state.withLock { $0.failure = failure } }
      return failure
    }
  }
}
