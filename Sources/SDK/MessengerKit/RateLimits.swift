/// The limits of a service, as far as it has named them: they say when a request may be sent. A pure value; times are since some
/// fixed moment.
public struct RateLimits: Sendable {
  /// A kind of request and the place it concerns: services count requests by both.
  public struct Lane: Hashable, Sendable {
    /// The method, without ids: `POST /channels/{channel}/messages`, `chat.postMessage`.
    public var kind: String
    /// The chat, channel or server; empty where the service does not tell them apart.
    public var place: String

    public init(_ kind: String, place: String = "") {
      self.kind = kind
      self.place = place
    }
  }

  private struct Bucket: Sendable {
    var remaining: Int
    var reset: Duration
  }

  /// Lanes that are remembered though they are free: one for each channel ever written to would be many.
  private static let remembered = 1_000

  /// Requests of all lanes together.
  private var all: SlidingWindow
  private let spare: Int
  private let stated: @Sendable (Lane) -> [SlidingWindow]
  private var windows: [Lane: [SlidingWindow]] = [:]
  private var names: [String: String] = [:]
  private var buckets: [String: Bucket] = [:]
  private var holdUntil: Duration = .zero

  /// - Parameters:
  ///   - maximum: the most requests of all lanes within `window`.
  ///   - window: the time in which they count.
  ///   - spare: the number of these requests that patient requests leave to others.
  ///   - stated: the limits of one lane that the service states beforehand, as one message a second in each chat; answers may name
  ///     others (`learned`).
  public init(
    maximum: Int, within window: Duration, spare: Int,
    stated: @escaping @Sendable (Lane) -> [SlidingWindow] = { _ in [] }
  ) {
    all = SlidingWindow(maximum: maximum, within: window)
    self.spare = spare
    self.stated = stated
  }

  /// The bucket that a lane counts in: the service's own name for it, once that is known.
  public func bucket(of lane: Lane) -> String { "\(names[lane.kind] ?? lane.kind) \(lane.place)" }

  /// The time that a request has to wait; zero when it may be sent now.
  public mutating func wait(for lane: Lane, now: Duration) -> Duration {
    max(.zero, holdUntil - now, wait(in: lane, isPatient: false, now), all.wait(now: now))
  }

  /// The time that a request has to wait which leaves room for others.
  public mutating func patientWait(for lane: Lane, now: Duration) -> Duration {
    max(wait(for: lane, now: now), wait(in: lane, isPatient: true, now), all.wait(now: now, leaving: spare))
  }

  private mutating func wait(in lane: Lane, isPatient: Bool, _ now: Duration) -> Duration {
    var longest = Duration.zero
    for index in windows[lane, default: []].indices {
      let spare = isPatient ? windows[lane]?[index].spare ?? 0 : 0
      longest = max(longest, windows[lane]?[index].wait(now: now, leaving: spare) ?? .zero)
    }
    guard let bucket = buckets[bucket(of: lane)], bucket.remaining <= (isPatient ? 1 : 0) else { return longest }
    return max(longest, bucket.reset - now)
  }

  /// Counts a request that is sent.
  public mutating func began(_ lane: Lane, now: Duration) {
    all.add(now: now)
    var limits = windows[lane] ?? stated(lane)
    for index in limits.indices { limits[index].add(now: now) }
    if !limits.isEmpty { windows[lane] = limits }
    if windows.count > Self.remembered {
      windows = windows.filter { $0.value.contains { !$0.isEmpty(now: now) } }
    }
    buckets[bucket(of: lane)]?.remaining -= 1
  }

  /// Learns the service's name for the bucket of this kind of request: kinds of one name share their buckets.
  public mutating func named(_ name: String, _ lane: Lane) { names[lane.kind] = name }

  /// Learns how much room a bucket has.
  ///
  /// - Parameters:
  ///   - remaining: the requests that it still takes.
  ///   - reset: the time after which it has all its room again.
  public mutating func learned(_ lane: Lane, remaining: Int, reset: Duration, now: Duration) {
    buckets[bucket(of: lane)] = Bucket(remaining: remaining, reset: now + reset)
    if buckets.count > Self.remembered { buckets = buckets.filter { $0.value.reset > now } }
  }

  /// Learns that the service refuses requests of this bucket for the time of `wait`.
  public mutating func refused(_ lane: Lane, for wait: Duration, now: Duration) {
    learned(lane, remaining: 0, reset: wait, now: now)
  }

  /// Learns that the service refuses every request for the time of `wait`.
  public mutating func refusedAll(for wait: Duration, now: Duration) { holdUntil = max(holdUntil, now + wait) }
}
