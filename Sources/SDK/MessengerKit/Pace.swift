internal import RelayConcurrency
internal import RelayTransport

/// The pace of a connection on which the service allows a burst and then an even flow: a `TokenBucket` that tells the time and
/// waits.
public final class Pace: Sendable {
  private let bucket: Locked<TokenBucket>
  private let now = LoopClock.shared.reading

  /// - Parameters:
  ///   - burst: the events that may happen at once; less than 1 counts as 1.
  ///   - interval: the time between two events in the even flow.
  public init(burst: Int, interval: Duration) {
    bucket = Locked(TokenBucket(burst: burst, interval: interval))
  }

  /// The time until there is room for another event; zero for now.
  public var wait: Duration { bucket.withLock { $0.wait(now: now()) } }

  /// Reports that a whole burst may go out. What is of little use is sent only then, because strangers may ask for it without end.
  public var isIdle: Bool { bucket.withLock { $0.wait(for: $0.burst, now: now()) == .zero } }

  /// Counts an event that happens without waiting for room.
  public func take() { bucket.withLock { $0.take(now: now()) } }

  /// Sends items one after the other, each when there is room, for as long as `limit` allows.
  ///
  /// - Parameters:
  ///   - items: the items, in their order.
  ///   - limit: the time from now after which none is begun any more.
  ///   - send: sends one item.
  /// - Returns: the number of items that were sent.
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
