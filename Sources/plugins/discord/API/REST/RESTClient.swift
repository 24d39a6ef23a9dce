package import MessengerHTTP
package import MessengerKit
internal import RelayConcurrency
package import RelayHTTP
package import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Asks Discord's HTTP interface, within its limits.
package actor RESTClient {
  package struct Settings: Sendable {
    package var token: String
    package var interface: JSONInterface

    /// - Parameters:
    ///   - base: `https://discord.com/api/v10`; another one for tests.
    ///   - proxy: the setting, which goes before the environment's.
    package init(base: String, token: String, proxy: String?) {
      self.token = token
      interface = JSONInterface(base: base, headers: [("User-Agent", RESTClient.userAgent)], proxy: proxy)
    }

    /// The proxy through which the interface is reached.
    package var proxy: Proxy? { interface.proxy() }
  }

  /// All of one request: the host takes a plugin that is silent for thirty seconds over one to hang.
  private static let budget: Duration = .seconds(20)
  private static let uploadBudget: Duration = .seconds(110)
  private static let pauseAfterBlock: Duration = .seconds(300)
  /// For a change of a growing message that was put off.
  private static let editPatience: Duration = .seconds(5)
  /// Fifty requests a second, counted over somewhat more than a second: requests that go out evenly may arrive in a
  /// bunch.
  /// https://discord.com/developers/docs/topics/rate-limits
  package static let defaultLimits = RateLimits(maximum: 50, within: .milliseconds(1_150), spare: 15)
  /// Discord bans an address at 10,000 invalid answers: 401, 403 and 429.
  static let invalidLimit = SlidingWindow(maximum: 5_000, within: .seconds(600))
  private static let userAgent = "DiscordBot (https://github.com/pi-relay/pi-relay, 0.1.0)"

  package nonisolated let settings: Settings
  package nonisolated let requests = PacedRequests(RESTClient.defaultLimits)
  private let now = LoopClock.shared.reading
  private var invalid = RESTClient.invalidLimit

  package init(_ settings: Settings) { self.settings = settings }

  /// - Parameters:
  ///   - file: goes with the body, read from the disk while it is sent.
  ///   - limit: for all of it; otherwise what suits the host.
  ///   - isRepeatable: asking twice does no more than asking once.
  ///   - isCounted: room was taken for it before.
  @discardableResult
  package func ask(
    _ route: Route, _ body: JSONValue? = nil, file: HTTPRequest.Part? = nil, within limit: Duration? = nil,
    isRepeatable: Bool = true, isCounted: Bool = false
  ) async throws(RESTError) -> JSONValue {
    let limit = limit ?? (file == nil ? Self.budget : Self.uploadBudget)
    // The gateway's address is how it is found out whether the token is good again. The token of an interaction that has expired is
    // none of the bot's.
    let credential: PacedRequests.Credential = route.hasOwnToken ? .none : route == .gateway ? .probed : .used
    return try await requests.perform(
      route.lane, within: limit, isRepeatable: isRepeatable, isCounted: isCounted, credential: credential
    ) { left throws(RESTError) in try await self.answer(to: route, body, file, within: left) }
  }

  private func answer(
    to route: Route, _ body: JSONValue?, _ file: HTTPRequest.Part?, within limit: Duration
  ) async throws(RESTError) -> JSONValue {
    let headers = route.hasOwnToken ? [] : [(name: "Authorization", value: "Bot \(settings.token)")]
    let (response, words) = try await settings.interface.ask(
      route.method, route.path, headers: headers, Self.content(body, file), within: limit)
    try await learn(route, response, words)
    guard (200..<300).contains(response.status) else {
      throw .refused(
        status: response.status, code: words["code"]?.intValue.map { "\($0)" },
        words["message"]?.stringValue ?? "no reason given")
    }
    return words
  }

  private static func content(_ body: JSONValue?, _ file: HTTPRequest.Part?) -> HTTPRequest.Body {
    guard let body else { return .none }
    let (bytes, type) = (JSONCoding.encode(body), "application/json")
    guard let file else { return .bytes(bytes, type: type) }
    return .multipart([HTTPRequest.Part(name: "payload_json", type: type, content: .bytes(bytes)), file])
  }

  /// The limits that an answer states.
  private func learn(_ route: Route, _ response: HTTPResponse, _ words: JSONValue) async throws(RESTError) {
    let (lane, headers) = (route.lane, response.headers)
    // A shared limit is another's fault, and does not count against us.
    let isShared = response.status == 429 && headers["x-ratelimit-scope"] == "shared"
    if [401, 403, 429].contains(response.status), !isShared { await countInvalid() }
    if response.status == 429 {
      // An answer that did not come through Discord's proxy, or is no JSON, comes from a server in front of Discord.
      guard let seconds = words["retry_after"]?.doubleValue, headers["via"] != nil else {
        await requests.learn { $0.refusedAll(for: Self.pauseAfterBlock, now: $1) }
        throw .rateLimited(seconds: Self.pauseAfterBlock / .seconds(1))
      }
      let isGlobal = words["global"] == true
      await requests.learn { limits, now in
        if isGlobal {
          limits.refusedAll(for: .seconds(seconds), now: now)
        } else {
          limits.refused(lane, for: .seconds(seconds), now: now)
        }
      }
      throw .rateLimited(seconds: seconds)
    }
    let remaining = headers["x-ratelimit-remaining"].flatMap { Int($0) }
    let reset = headers["x-ratelimit-reset-after"].flatMap { Double($0) }
    await requests.learn { limits, now in
      if let name = headers["x-ratelimit-bucket"] { limits.named(name, lane) }
      if let remaining, let reset { limits.learned(lane, remaining: remaining, reset: .seconds(reset), now: now) }
    }
  }

  /// Long before Discord bans the address nothing more is asked for a while.
  private func countInvalid() async {
    invalid.add(now: now())
    let wait = invalid.wait(now: now())
    if wait > .zero { await requests.learn { $0.refusedAll(for: wait, now: $1) } }
  }

  /// Changes of messages that grow.
  package nonisolated var growth: GrowingEdits<JSONValue, RESTError>.Service {
    .init(
      takesRoom: { await self.requests.takesRoomToSpare(for: Route.editMessage($0.message, in: $0.conversation).lane) },
      waitsForRoom: {
        await self.requests.waitsForRoomToSpare(for: Route.editMessage($0.message, in: $0.conversation).lane)
      },
      change: { place, body, isLate throws(RESTError) in
        try await self.ask(
          .editMessage(place.message, in: place.conversation), body, within: isLate ? Self.editPatience : nil,
          isCounted: true)
      })
  }
}
