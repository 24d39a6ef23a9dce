internal import RelayTransport

/// Sends requests within a service's limits: one request of a bucket at a time, each held back until there is room, and tried again
/// where that does no harm. After the service has refused the token, nothing more is asked with it for five minutes: services count
/// such requests towards a ban.
public actor PacedRequests {
  /// The part that the messenger's token plays in a request.
  public enum Credential: Sendable {
    /// The request goes without it, as with a token of an interaction.
    case none
    /// The request is not made while the token counts as refused.
    case used
    /// The request is made even then, to find out whether the token is good again.
    case probed
  }

  static let pauseAfterRefusal: Duration = .seconds(300)
  /// The most tries of one request.
  static let maximumTries = 5
  /// Longer waits are the host's, which keeps what waits on the disk.
  static let maximumWait: Duration = .seconds(5)

  private var limits: RateLimits
  private let clock = LoopClock.shared
  private let start = LoopClock.shared.now
  /// Only the answer to a request says whether its bucket has room for the next.
  private var busy: Set<String> = []
  private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
  private var refusedUntil: Duration = .zero

  /// - Parameter limits: the limits that the service states; `learn` adds those that its answers name.
  public init(_ limits: RateLimits) { self.limits = limits }

  private var now: Duration { start.duration(to: clock.now) }

  /// Takes over the limits that an answer names.
  ///
  /// - Parameter change: changes the limits; gets the time by which they count.
  public func learn(_ change: @Sendable (inout RateLimits, Duration) -> Void) { change(&limits, now) }

  /// Carries out a request, in at most five tries.
  ///
  /// - Parameters:
  ///   - lane: the kind of request and the place that it concerns.
  ///   - limit: the time for all of it, waits and further tries included. The host takes a send for lost after 30 s.
  ///   - isRepeatable: asking twice does no more than asking once.
  ///   - isCounted: room was taken for the request before (`takesRoomToSpare`).
  ///   - credential: whether the request needs the token.
  ///   - attempt: makes one try within the time that it gets.
  /// - Returns: the value of the try that succeeded.
  /// - Throws: `rateLimited` where the wait would be longer than 5 s or the limit, or the last try's failure. Where the service may
  ///   have acted on an earlier try, that try's `unanswered` takes its place.
  public func perform<Value: Sendable>(
    _ lane: RateLimits.Lane, within limit: Duration, isRepeatable: Bool = true, isCounted: Bool = false,
    credential: Credential = .used, _ attempt: @Sendable (Duration) async throws(RESTError) -> Value
  ) async throws(RESTError) -> Value {
    let deadline = now + limit
    let bucket = limits.bucket(of: lane)
    await enter(bucket)
    defer { leave(bucket) }
    var tries = 0
    var doubt: RESTError?
    while true {
      do throws(RESTError) {
        try await waitForRoom(lane, until: deadline)
        if credential == .used, now < refusedUntil {
          throw .refused(status: 401, code: nil, "the token was refused before")
        }
        if tries > 0 || !isCounted { limits.began(lane, now: now) }
        tries += 1
        let value = try await attempt(deadline - now)
        if credential != .none { refusedUntil = .zero }
        return value
      } catch {
        if credential != .none, now >= refusedUntil, case .refused(status: 401, _, _) = error {
          refusedUntil = now + Self.pauseAfterRefusal
        }
        if case .unanswered = error { doubt = error }
        guard tries < Self.maximumTries, let delay = Self.delay(after: error, tries, isRepeatable),
          now + delay < deadline
        else { throw doubt ?? error }
        do { try await clock.sleep(for: delay) } catch { throw doubt ?? .unreachable("pi-relay is stopping") }
      }
    }
  }

  /// Takes room for a request that may wait, if there is some to spare now.
  ///
  /// - Returns: false when there is none.
  public func takesRoomToSpare(for lane: RateLimits.Lane) -> Bool {
    guard limits.patientWait(for: lane, now: now) == .zero else { return false }
    limits.began(lane, now: now)
    return true
  }

  /// Takes room for a request that may wait, as soon as there is some to spare.
  ///
  /// - Returns: false when cancelled before.
  public func waitsForRoomToSpare(for lane: RateLimits.Lane) async -> Bool {
    while case let wait = limits.patientWait(for: lane, now: now), wait > .zero {
      do { try await clock.sleep(for: wait) } catch { return false }
    }
    return takesRoomToSpare(for: lane)
  }

  private func enter(_ bucket: String) async {
    guard !busy.insert(bucket).inserted else { return }
    await withCheckedContinuation { waiting[bucket, default: []].append($0) }
  }

  private func leave(_ bucket: String) {
    guard var line = waiting[bucket], !line.isEmpty else {
      busy.remove(bucket)
      waiting[bucket] = nil
      return
    }
    let next = line.removeFirst()
    waiting[bucket] = line
    next.resume()
  }

  private func waitForRoom(_ lane: RateLimits.Lane, until deadline: Duration) async throws(RESTError) {
    while case let wait = limits.wait(for: lane, now: now), wait > .zero {
      guard wait <= Self.maximumWait, now + wait < deadline else {
        throw .rateLimited(seconds: wait / .seconds(1))
      }
      do { try await clock.sleep(for: wait) } catch { throw .unreachable("pi-relay is stopping") }
    }
  }

  /// `nil` where another try would get the same answer, or might do the same thing twice.
  private static func delay(after error: RESTError, _ tries: Int, _ isRepeatable: Bool) -> Duration? {
    switch error {
    case .refused(let status, _, _) where [500, 502, 503, 504, 524].contains(status):
      isRepeatable || status == 503 ? .milliseconds(250) * (1 << tries) : nil
    // Waited for before the next try.
    case .rateLimited(let seconds): seconds <= maximumWait / .seconds(1) ? .zero : nil
    case .unreachable: .milliseconds(250) * (1 << tries)
    case .unanswered: isRepeatable ? .milliseconds(250) * (1 << tries) : nil
    default: nil
    }
  }
}
