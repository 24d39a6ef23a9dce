import RelayHome
import RelayStore
import TestSupport
import Testing

/// Tests with real daemons. One at a time: each starts half a dozen processes, and two cores are soon busy.
@Suite(.serialized, .timeLimit(.minutes(1))) enum EndToEnd {
  @Suite enum Sessions {}
  @Suite enum Messengers {}
  @Suite enum Operation {}
}

extension RelayFixture {
  /// Waits until something holds of what the daemon has committed.
  func waitForStore(_ condition: (SQLiteStore) async throws -> Bool) async throws {
    let store = try SQLiteStore(path: home.database)
    while try await !condition(store) {
      // A commit of another process is no event: its last step is a store to shared memory.
      try await Task.sleep(for: .milliseconds(5))
    }
    await store.close()
  }
}
