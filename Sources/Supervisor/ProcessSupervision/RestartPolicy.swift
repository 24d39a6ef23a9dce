internal import RelayConcurrency

/// Decides when an exited process starts again. A pure value without clock or process.
///
/// Defaults: at once, then after 0.25 s doubling to 60 s with jitter; five exits within 60 s mean `failing`, and
/// restarts continue at the longest wait. It never gives up.
package struct RestartPolicy: Sendable, Equatable {
  package var firstDelay: Duration = .milliseconds(250)
  package var maximumDelay: Duration = .seconds(60)
  /// Share of the delay that is random, 0…1, so that many plugins do not return at the same moment after a failure of
  /// the network.
  package var jitter = 0.25
  package var failingCount = 5
  package var failingWindow: Duration = .seconds(60)
  /// Working this long, and having done something, wipes the slate.
  package var healthyAfter: Duration = .seconds(60)

  package init() {}

  /// Earlier ends that count.
  package struct History: Sendable, Equatable, Codable {
    /// Ends in a row without a healthy run between them.
    package var failures = 0
    /// When the last ones were, on whatever clock the caller uses.
    package var recent: [Duration] = []
    package init() {}

    /// Times as ages, and ages as times.
    package func flipped(at now: Duration) -> History {
      var history = self
      history.recent = recent.map { now - $0 }
      return history
    }
  }

  package struct Decision: Sendable, Equatable {
    package var delay: Duration
    package var failing: Bool
  }

  /// Records an end and says when to start again.
  ///
  /// - Parameters:
  ///   - now: the time of the end.
  ///   - uptime: how long the process ran.
  ///   - worked: whether it did something: answered a request or a ping.
  ///   - random: 0…1.
  package func next(
    _ history: inout History, now: Duration, uptime: Duration, worked: Bool, random: Double
  ) -> Decision {
    if worked, uptime >= healthyAfter { history = History() }
    history.failures += 1
    history.recent = history.recent.filter { now - $0 < failingWindow } + [now]
    if history.recent.count > failingCount { history.recent.removeFirst() }
    let failing = history.recent.count >= failingCount
    return Decision(delay: failing ? maximumDelay : delay(failures: history.failures, random: random), failing: failing)
  }

  private func delay(failures: Int, random: Double) -> Duration {
    guard failures > 1 else { return .zero }
    return ExponentialBackoff(from: firstDelay, to: maximumDelay, jitter: jitter).wait(failures - 2, random: random)
  }
}
