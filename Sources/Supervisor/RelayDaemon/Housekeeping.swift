internal import Logging
internal import RelayConcurrency
internal import RelayStore

/// Removes what ended long ago, beside the daemon's work.
struct Housekeeping: Sendable {
  let store: SQLiteStore
  let keep: Duration
  let timeSource: TimeSource
  let logger: Logger

  /// At the start and every hour, more often where less than a day is kept.
  func run() async {
    repeat {
      do {
        try await store.prune(endedBefore: timeSource.wallTime() - Double(keep.components.seconds))
      } catch {
        logger.error("old work was not removed: \(error)")
      }
    } while await timeSource.sleep(for: min(.seconds(3_600), keep / 24))
  }
}
