internal import RelayHTTP
internal import RelayTransport
internal import RelayWire

/// Asks Discord's HTTP interface, within its limits.
actor RESTClient {
  struct Settings: Sendable {
    /// `https://discord.com/api/v10`; another one for tests.
    var base: String
    var token: String
    var proxies: ProxyRules

    /// - Parameter proxy: the setting, which goes before the environment's.
    init(base: String, token: String, proxy: String?) {
      self.base = base
      self.token = token
      proxies = ProxyRules(setting: proxy)
    }

    /// The proxy through which the interface is reached.
    var proxy: Proxy? { proxies.proxy(for: base) }

    var allowsPlain: Bool { base.hasPrefix("http://127.0.0.1:") }
  }

  /// Longer waits are the host's, which keeps what waits on the disk.
  static let longestWait: Duration = .seconds(5)
  /// All of one request: the host takes a plugin that is silent for thirty seconds over one to hang.
  static let budget: Duration = .seconds(20)
  static let uploadBudget: Duration = .seconds(110)
  /// After a refused token every further request counts towards a ban.
  private static let pauseAfterRefusal: Duration = .seconds(300)
  private static let pauseAfterBlock: Duration = .seconds(300)
  /// Tries of what Discord could not take.
  static let mostTries = 5
  private static let userAgent = "DiscordBot (https://github.com/pi-relay/pi-relay, 0.1.0)"

  nonisolated let settings: Settings
  private let clock = LoopClock.shared
  private let engine: CurlEngine
  private let began: LoopClock.Instant
  private var limits = RateLimits()
  /// One request of a bucket at a time: only its answer says whether there is room for the next.
  private var busy: Set<String> = []
  private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
  private var refusedUntil: Duration = .zero

  init(_ settings: Settings, engine: CurlEngine = .shared) {
    self.settings = settings
    self.engine = engine
    began = clock.now
  }

  private var now: Duration { began.duration(to: clock.now) }

  /// - Parameters:
  ///   - file: goes with the body, read from the disk while it is sent.
  ///   - limit: for all of it; otherwise what suits the host.
  ///   - isRepeatable: asking twice does no more than asking once.
  ///   - isCounted: room was taken for it before.
  @discardableResult
  func ask(
    _ route: Route, _ body: JSONValue? = nil, file: HTTPRequest.Part? = nil, within limit: Duration? = nil,
    isRepeatable: Bool = true, isCounted: Bool = false
  ) async throws(RESTError) -> JSONValue {
    let deadline = now + (limit ?? (file == nil ? Self.budget : Self.uploadBudget))
    let bucket = limits.bucket(of: route)
    await enter(bucket)
    defer { leave(bucket) }
    var tries = 0
    var doubt: RESTError?
    while true {
      // The gateway's address is how it is found out whether the token is good again.
      if now < refusedUntil, route != .gateway, !route.hasOwnToken {
        throw .refused(status: 401, code: nil, "the token was refused before")
      }
      do {
        try await waitForRoom(route, until: deadline)
        if tries > 0 || !isCounted { limits.began(route, now: now) }
        tries += 1
        return try await answer(to: route, body, file, within: deadline - now)
      } catch {
        if case .unanswered = error { doubt = error }
        guard tries < Self.mostTries, let delay = Self.delay(after: error, tries, isRepeatable), now + delay < deadline
        else { throw doubt ?? error }
        do { try await clock.sleep(for: delay) } catch { throw doubt ?? .unreachable("pi-relay is stopping") }
      }
    }
  }

  /// Takes room for a request that may well wait, if there is some to spare now.
  func takesRoomToSpare(for route: Route) -> Bool {
    guard limits.patientWait(for: route, now: now) == .zero else { return false }
    limits.began(route, now: now)
    return true
  }

  /// The same when there is; false when cancelled first.
  func waitsForRoomToSpare(for route: Route) async -> Bool {
    while case let wait = limits.patientWait(for: route, now: now), wait > .zero {
      do { try await clock.sleep(for: wait) } catch { return false }
    }
    return takesRoomToSpare(for: route)
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

  private func waitForRoom(_ route: Route, until deadline: Duration) async throws(RESTError) {
    while case let wait = limits.wait(for: route, now: now), wait > .zero {
      guard wait <= Self.longestWait, now + wait < deadline else { throw .rateLimited(seconds: wait.inSeconds) }
      do { try await clock.sleep(for: wait) } catch { throw .unreachable("pi-relay is stopping") }
    }
  }

  /// Nil where another try would answer the same, or might do it twice.
  private static func delay(after error: RESTError, _ tries: Int, _ isRepeatable: Bool) -> Duration? {
    switch error {
    case .refused(let status, _, _) where [500, 502, 503, 504, 524].contains(status):
      isRepeatable || status == 503 ? .milliseconds(250) * (1 << tries) : nil
    // Waited for before the next try.
    case .rateLimited(let seconds): seconds <= longestWait.inSeconds ? .zero : nil
    case .unreachable: .milliseconds(250) * (1 << tries)
    case .unanswered: isRepeatable ? .milliseconds(250) * (1 << tries) : nil
    default: nil
    }
  }

  private func answer(
    to route: Route, _ body: JSONValue?, _ file: HTTPRequest.Part?, within limit: Duration
  ) async throws(RESTError) -> JSONValue {
    var request = HTTPRequest(
      route.method, settings.base + route.path,
      headers: [("User-Agent", Self.userAgent)]
        + (route.hasOwnToken ? [] : [("Authorization", "Bot \(settings.token)")]))
    request.allowsPlainHTTP = settings.allowsPlain
    request.timeoutSeconds = max(1, Int(limit.components.seconds))
    request.proxy = settings.proxies.proxy(for: request.url)?.url
    if let body {
      let bytes = JSONCoding.encode(body)
      request.body =
        file.map { file in
          .multipart([
            HTTPRequest.Part(name: "payload_json", type: "application/json", content: .bytes(bytes)), file,
          ])
        } ?? .bytes(bytes, type: "application/json")
    }
    let response: HTTPResponse
    do {
      response = try await engine.send(request)
    } catch {
      switch error {
      case .notSent(let why): throw .unreachable(why)
      default: throw .unanswered("\(error)")
      }
    }
    return try read(response, route)
  }

  private func read(_ response: HTTPResponse, _ route: Route) throws(RESTError) -> JSONValue {
    // What is no JSON does not come from Discord itself, but from what stands before it.
    let words = (try? JSONCoding.decode(JSONValue.self, from: response.body)) ?? .null
    if response.status == 429 {
      guard let wait = words["retry_after"]?.doubleValue, response.headers["via"] != nil else {
        limits.refused(route, .init(wait: Self.pauseAfterBlock, isGlobal: true, isShared: false), now: now)
        throw .blocked
      }
      let refusal = RateLimits.Refusal(
        wait: .seconds(wait), isGlobal: words["global"] == true,
        isShared: response.headers["x-ratelimit-scope"] == "shared")
      limits.refused(route, refusal, now: now)
      throw .rateLimited(seconds: wait)
    }
    limits.took(route, status: response.status, headers: response.headers, now: now)
    guard (200..<300).contains(response.status) else {
      // The token of an interaction that has expired is none of the bot's.
      if response.status == 401, !route.hasOwnToken { refusedUntil = now + Self.pauseAfterRefusal }
      throw .refused(
        status: response.status, code: words["code"]?.integerValue, words["message"]?.stringValue ?? "no reason given")
    }
    return words
  }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension JSONValue {
  var doubleValue: Double? {
    switch self {
    case .number(let number): number
    case .integer(let integer): Double(integer)
    default: nil
    }
  }

  var integerValue: Int? { if case .integer(let integer) = self { Int(integer) } else { nil } }
}
