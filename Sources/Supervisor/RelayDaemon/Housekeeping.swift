internal import Logging
internal import RelayConcurrency
internal import RelayStore

/// Looks after what a daemon has stored, beside its work.
struct Housekeeping: Sendable {
  let store: SQLiteStore
  let keep: Duration
  let timeSource: TimeSource
  let logger: Logger

  /// Checks the database, then removes what ended long ago: at the start and every hour, more often where less than a
  /// day is kept.
  func run() async {
    await report("the database was not checked") { try await store.check() }
    repeat {
      await report("old work was not removed") {
        try await store.prune(endedBefore: timeSource.wallTime() - Double(keep.components.seconds))
      }
    } while await timeSource.sleep(for: min(.seconds(3_600), keep / 24))
  }

  private func report(_ failure: String, _ body: () async throws -> Void) async {
    do { try await body() } catch { logger.error("\(failure): \(error)") }
  }
}
