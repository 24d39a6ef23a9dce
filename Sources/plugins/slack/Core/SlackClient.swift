internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK
internal import RelayHTTP
internal import RelayJSON
internal import RelayWire

/// Asks Slack's Web API, within its limits.
///
/// https://docs.slack.dev/apis/web-api/rate-limits
final class SlackClient: Sendable {
  static let defaultAPI = "https://slack.com/api"
  /// All of one request: the host takes a plugin that is silent for thirty seconds over one to hang.
  private static let budget: Duration = .seconds(20)
  private static let uploadBudget: Duration = .seconds(100)
  /// Most methods are counted for the whole workspace; messages by channel.
  private static let minutely = ["chat.update": 50, "chat.startStream": 20, "chat.appendStream": 100]
  /// Methods that must not be asked twice: after a lost answer the host looks the message up.
  private static let writing: Set<String> = [
    "chat.postMessage", "chat.startStream", "chat.appendStream", "chat.stopStream", "chat.postEphemeral",
    "files.completeUploadExternal", "views.open",
  ]

  private let token: String
  private let appToken: String
  let interface: JSONInterface
  private let proxySetting: String?
  let requests = PacedRequests(
    RateLimits(maximum: 40, within: .seconds(1), spare: 10) { lane in
      if lane.kind == "chat.postMessage" { return [SlidingWindow(maximum: 4, within: .seconds(4))] }
      return minutely[lane.kind].map { [SlidingWindow(maximum: $0, within: .seconds(60))] } ?? []
    })
  /// Told how each request with the bot's token ended.
  private let told: @Sendable (_ method: String, _ error: RESTError?) async -> Void

  init(
    api: String?, token: String, appToken: String, proxy: String?,
    told: @escaping @Sendable (_ method: String, _ error: RESTError?) async -> Void = { _, _ in }
  ) {
    self.token = token
    self.appToken = appToken
    self.told = told
    proxySetting = proxy
    interface = JSONInterface(
      base: api ?? Self.defaultAPI, headers: [("User-Agent", "pi-relay/0.1.0")], proxy: proxy)
  }

  convenience init(
    _ settings: SlackSettings, told: @escaping @Sendable (String, RESTError?) async -> Void = { _, _ in }
  ) {
    self.init(
      api: settings.api, token: settings.token ?? "", appToken: settings.appToken ?? "", proxy: settings.proxy,
      told: told)
  }

  static func lane(_ method: String, _ arguments: [String: JSONValue]) -> RateLimits.Lane {
    .init(method, place: method == "chat.postMessage" ? arguments["channel"]?.stringValue ?? "" : "")
  }

  /// Asks a method.
  ///
  /// - Parameters:
  ///   - arguments: texts, numbers and flags, and JSON for what is larger, as Slack takes it in a form.
  ///   - limit: for all of it; otherwise what suits the host.
  ///   - isCounted: room was taken for the request before.
  /// - Throws: also for an answer with `"ok": false`.
  @discardableResult
  func ask(
    _ method: String, _ arguments: [String: JSONValue] = [:], within limit: Duration? = nil, isCounted: Bool = false
  ) async throws(RESTError) -> JSONValue {
    try await answer(method, arguments, within: limit, isCounted: isCounted).words
  }

  /// Answers with the scopes of the token as well.
  func ask(scopes method: String) async throws(RESTError) -> (words: JSONValue, scopes: Set<String>) {
    let (words, headers) = try await answer(method, [:], within: nil, isCounted: false)
    let scopes = headers["x-oauth-scopes"]?.split(separator: ",").map { String($0.filter { $0 != " " }) } ?? []
    return (words, Set(scopes))
  }

  private func answer(
    _ method: String, _ arguments: [String: JSONValue], within limit: Duration?, isCounted: Bool
  ) async throws(RESTError) -> (words: JSONValue, headers: [String: String]) {
    let lane = Self.lane(method, arguments)
    let isOfApp = method == "apps.connections.open"
    do {
      let answer = try await requests.perform(
        lane, within: limit ?? Self.budget, isRepeatable: !Self.writing.contains(method), isCounted: isCounted
      ) { left throws(RESTError) in
        try await self.attempt(method, arguments, isOfApp ? self.appToken : self.token, lane, within: left)
      }
      if !isOfApp { await told(method, nil) }
      return answer
    } catch {
      if !isOfApp { await told(method, error) }
      throw error
    }
  }

  private func attempt(
    _ method: String, _ arguments: [String: JSONValue], _ token: String, _ lane: RateLimits.Lane,
    within limit: Duration
  ) async throws(RESTError) -> (words: JSONValue, headers: [String: String]) {
    let form = Self.form(arguments)
    let (response, words) = try await interface.ask(
      "POST", "/\(method)", headers: [("Authorization", "Bearer \(token)")],
      .bytes(Array(form.utf8), type: "application/x-www-form-urlencoded"), within: limit)
    if response.status == 429 || words["error"] == "ratelimited" {
      let seconds = response.headers["retry-after"].flatMap { Double($0) } ?? 1
      await requests.learn { $0.refused(lane, for: .seconds(seconds), now: $1) }
      throw .rateLimited(seconds: seconds)
    }
    if response.status >= 500, Self.writing.contains(method) { throw .unanswered("status \(response.status)") }
    guard (200..<300).contains(response.status) else {
      throw .refused(status: response.status, code: nil, "status \(response.status)")
    }
    // A proxy's page in place of Slack's answer.
    guard words["ok"] != nil else { throw .unanswered("its answer is no JSON of Slack's") }
    guard words["ok"] == true else { throw SlackError.read(words, method) }
    return (words, response.headers)
  }

  private static func form(_ arguments: [String: JSONValue]) -> String {
    arguments.sorted { $0.key < $1.key }.map { name, value in
      let text: String =
        switch value {
        case .string(let text): text
        default: String(decoding: JSONCoding.encode(value), as: UTF8.self)
        }
      return "\(name)=\(text.percentEncoded)"
    }.joined(separator: "&")
  }

  // MARK: - Other addresses

  /// Reports that an address is Slack's own, or that of the interface that stands in for Slack in tests.
  func isOurs(_ url: String) -> Bool {
    if interface.allowsPlain { return url.hasPrefix(interface.base.replacing("/api", with: "") + "/") }
    guard url.hasPrefix("https://") else { return false }
    let host = url.dropFirst(8).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    return host == "slack.com" || host.hasSuffix(".slack.com") && !host.contains("@")
  }

  /// Sends something to an address that Slack has given, without a token. The address appears in no error.
  func post(_ body: HTTPRequest.Body, to url: String, isUpload: Bool = false) async throws(RESTError) {
    guard isOurs(url) else { throw .refused(status: 400, code: nil, "Slack named an address that is not its own") }
    let (response, words) = try await JSONInterface(base: url, proxy: proxySetting).ask(
      "POST", "", body, within: isUpload ? Self.uploadBudget : Self.budget)
    if response.status == 429 {
      throw .rateLimited(seconds: response.headers["retry-after"].flatMap { Double($0) } ?? 1)
    }
    guard (200..<300).contains(response.status), words["ok"] != false else {
      throw .refused(
        status: response.status == 200 ? 400 : response.status, code: words["error"]?.stringValue, "refused")
    }
  }

  /// The headers that a file of Slack's is asked with.
  var fileHeaders: [String: String] { ["Authorization": "Bearer \(token)"] }
}
