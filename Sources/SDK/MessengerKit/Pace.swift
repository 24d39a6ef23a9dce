internal import RelayConcurrency
internal import RelayTransport

/// The pace of a connection that the service holds to a burst and an even flow: a `TokenBucket` that tells the time and waits.
public final class Pace: Sendable {
  private let bucket: Locked<TokenBucket>
  private let now = LoopClock.shared.reading

  /// - Parameters:
  ///   - burst: events at once.
  ///   - interval: between two events that follow each other for long.
  public init(burst: Int, interval: Duration) {
    bucket = Locked(TokenBucket(burst: burst, interval: interval))
  }

  /// The time until there is room for another event.
  public var wait: Duration { bucket.withLock { $0.wait(now: now()) } }

  /// True once a whole burst may go out again. Text that nobody needs is sent only then: strangers may ask for it as often as they
  /// like.
  public var isIdle: Bool { bucket.withLock { $0.wait(for: $0.burst, now: now()) == .zero } }

  /// Counts an event that does not wait.
  public func take() { bucket.withLock { $0.take(now: now()) } }

  /// Sends as many of these as there is room for soon, one after the other.
  ///
  /// - Parameter limit: no event begins later than this.
  /// - Returns: how many were sent.
  public func send<Item>(
    _ items: [Item], within limit: Duration, isolation: isolated (any Actor)? = #isolation, by send: (Item) -> Void
  ) async -> Int {
    let deadline = now() + limit
    var count = 0
    while count < items.count, now() + wait < deadline {
      await waitForRoom()
      take()
      send(items[count])
      count += 1
    }
    return count
  }

  /// Returns once there is room, or the task is cancelled.
  public func waitForRoom() async {
    while case let wait = wait, wait > .zero {
      guard (try? await LoopClock.shared.sleep(for: wait)) != nil else { return }
    }
  }
}
