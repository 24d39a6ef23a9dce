/// When which request may go out, as far as Discord has told. A pure value.
///
/// https://discord.com/developers/docs/topics/rate-limits
struct RateLimits {
  private struct Bucket {
    var remaining: Int
    /// Since some fixed moment, as all times here.
    var reset: Duration
  }

  /// What a 429 asks for.
  struct Refusal: Equatable {
    var wait: Duration
    var isGlobal: Bool
    /// Another's fault: it counts neither against us nor against the bucket.
    var isShared: Bool
  }

  /// Requests a second, over all routes.
  static let globalPerSecond = 50
  /// A second, and somewhat more: what goes out evenly may arrive in a bunch.
  static let second: Duration = .milliseconds(1_150)
  /// Answers of 401, 403 and 429 after which nothing more is asked for a while: Discord bans an address at 10,000.
  static let mostInvalid = 5_000
  static let invalidWindow: Duration = .seconds(600)

  /// What may well wait is not to use up the last of a bucket, nor of the second.
  static let patientPerSecond = 35

  private var names: [String: String] = [:]
  private var buckets: [String: Bucket] = [:]
  private var sentThisSecond: [Duration] = []
  private var globalReset: Duration = .zero
  private var invalid: [Duration] = []

  /// The bucket that a route counts in: by Discord's name for it once that is known.
  func bucket(of route: Route) -> String {
    let kind = "\(route.method) \(route.template)"
    return (names[kind] ?? kind) + " \(route.major)"
  }

  /// How long a request has to wait; zero when it may go out now.
  mutating func wait(for route: Route, now: Duration) -> Duration {
    sentThisSecond.removeAll { now - $0 >= Self.second }
    invalid.removeAll { now - $0 >= Self.invalidWindow }
    var until = globalReset
    if let bucket = buckets[bucket(of: route)], bucket.remaining <= 0 { until = max(until, bucket.reset) }
    if sentThisSecond.count >= Self.globalPerSecond, let oldest = sentThisSecond.first {
      until = max(until, oldest + Self.second)
    }
    if invalid.count >= Self.mostInvalid, let oldest = invalid.first { until = max(until, oldest + Self.invalidWindow) }
    return max(.zero, until - now)
  }

  /// The same for a request that may well wait: it leaves room for one that may not.
  mutating func patientWait(for route: Route, now: Duration) -> Duration {
    var until = now + wait(for: route, now: now)
    if let bucket = buckets[bucket(of: route)], bucket.remaining <= 1 { until = max(until, bucket.reset) }
    if sentThisSecond.count >= Self.patientPerSecond {
      until = max(until, sentThisSecond[sentThisSecond.count - Self.patientPerSecond] + Self.second)
    }
    return max(.zero, until - now)
  }

  /// A request goes out.
  mutating func began(_ route: Route, now: Duration) {
    sentThisSecond.append(now)
    buckets[bucket(of: route)]?.remaining -= 1
  }

  /// What an answer says of its bucket.
  ///
  /// - Parameter headers: by names in lower case.
  mutating func took(_ route: Route, status: Int, headers: [String: String], now: Duration) {
    if status == 401 || status == 403 { invalid.append(now) }
    if let name = headers["x-ratelimit-bucket"] { names["\(route.method) \(route.template)"] = name }
    guard let remaining = headers["x-ratelimit-remaining"].flatMap({ Int($0) }),
      let after = headers["x-ratelimit-reset-after"].flatMap({ Double($0) })
    else { return }
    buckets[bucket(of: route)] = Bucket(remaining: remaining, reset: now + .seconds(after))
    forgetOld(now)
  }

  mutating func refused(_ route: Route, _ refusal: Refusal, now: Duration) {
    if !refusal.isShared { invalid.append(now) }
    if refusal.isGlobal {
      globalReset = max(globalReset, now + refusal.wait)
    } else {
      buckets[bucket(of: route)] = Bucket(remaining: 0, reset: now + refusal.wait)
    }
  }

  /// One for each channel ever written to would be many.
  private mutating func forgetOld(_ now: Duration) {
    if buckets.count > 1_000 { buckets = buckets.filter { $0.value.reset > now } }
  }
}
