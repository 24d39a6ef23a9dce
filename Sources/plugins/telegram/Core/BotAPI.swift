internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK
internal import RelayHTTP
internal import RelayJSON
internal import RelayWire

/// Asks a Bot API server, within Telegram's limits. The token is part of each address, and of nothing else.
///
/// https://core.telegram.org/bots/api
struct BotAPI: Sendable {
  /// All of one request: the host takes a plugin that is silent for thirty seconds over one to hang.
  private static let budget: Duration = .seconds(20)
  private static let uploadBudget: Duration = .seconds(110)
  /// Telegram states about one message a second in a chat, with short bursts, twenty a minute in a group, and thirty a second in all;
  /// somewhat more than a second is counted, because requests that go out evenly may arrive in a bunch.
  ///
  /// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
  static let limits = RateLimits(maximum: 30, within: .milliseconds(1_150), spare: 10) { lane in
    guard lane.kind == chatLane else { return [] }
    let short = SlidingWindow(maximum: 3, within: .seconds(3))
    return lane.place.hasPrefix("-") ? [short, SlidingWindow(maximum: 20, within: .seconds(60), spare: 6)] : [short]
  }
  private static let chatLane = "messages"

  private let interface: JSONInterface
  private let token: String
  let requests = PacedRequests(BotAPI.limits)

  init(_ settings: TelegramSettings) {
    interface = JSONInterface(base: settings.server, proxy: settings.proxy)
    token = settings.token ?? ""
  }

  /// The proxy through which the server is reached.
  var proxy: Proxy? { interface.proxy() }

  /// The address of a file that `getFile` has named. It holds the token.
  func address(ofFile path: String) -> String {
    "\(interface.base)/file/bot\(token)/"
      + path.split(separator: "/").map { String($0).percentEncoded }.joined(separator: "/")
  }

  /// The messages of one chat count together.
  static func lane(_ method: String, _ chat: Int?) -> RateLimits.Lane {
    guard let chat else { return .init(method) }
    return method == "sendChatAction" ? .init(method, place: "\(chat)") : .init(chatLane, place: "\(chat)")
  }

  /// Calls a method.
  ///
  /// - Parameters:
  ///   - chat: the chat in which the call counts as a message.
  ///   - file: goes with the parameters, read from the disk while it is sent.
  ///   - limit: for all of it; otherwise what suits the host.
  ///   - isRepeatable: asking twice does no more than asking once.
  ///   - isCounted: room was taken for it before.
  /// - Returns: the member `result`.
  @discardableResult
  func ask(
    _ method: String, _ parameters: [String: JSONValue] = [:], in chat: Int? = nil, file: HTTPRequest.Part? = nil,
    within limit: Duration? = nil, isRepeatable: Bool = true, isCounted: Bool = false,
    credential: PacedRequests.Credential = .used
  ) async throws(RESTError) -> JSONValue {
    let lane = Self.lane(method, chat)
    let limit = limit ?? (file == nil ? Self.budget : Self.uploadBudget)
    return try await requests.perform(
      lane, within: limit, isRepeatable: isRepeatable, isCounted: isCounted, credential: credential
    ) { left throws(RESTError) in
      let (response, words) = try await interface.ask(
        "POST", "/bot\(token)/\(method)", Self.content(parameters, file), within: left)
      if words["ok"] == true, let result = words["result"] { return result }
      throw await refusal(response.status, words, lane)
    }
  }

  private static func content(_ parameters: [String: JSONValue], _ file: HTTPRequest.Part?) -> HTTPRequest.Body {
    guard let file else { return .bytes(JSONCoding.encode(.object(parameters)), type: "application/json") }
    let fields = parameters.map { name, value in
      HTTPRequest.Part(
        name: name, content: .bytes(value.stringValue.map { Array($0.utf8) } ?? JSONCoding.encode(value)))
    }
    return .multipart(fields + [file])
  }

  private func refusal(_ status: Int, _ words: JSONValue, _ lane: RateLimits.Lane) async -> RESTError {
    let status = words["error_code"]?.intValue ?? status
    let description = words["description"]?.stringValue ?? "no reason given"
    if status == 429 {
      let seconds = words["parameters"]?["retry_after"]?.doubleValue ?? 5
      await requests.learn { $0.refused(lane, for: .seconds(seconds), now: $1) }
      return .rateLimited(seconds: seconds)
    }
    // An unknown method says more than the two words that an unknown token gets.
    if status == 404, words["ok"] == false, description == "Not Found" {
      return .refused(status: 401, code: nil, description)
    }
    let moved = words["parameters"]?["migrate_to_chat_id"]?.intValue
    return .refused(status: status, code: moved.map { RESTError.moved + "\($0)" }, description)
  }
}

extension RESTError {
  fileprivate static let moved = "moved to "

  /// The supergroup that a group has become.
  var newChat: Int? {
    if case .refused(_, let code?, _) = self, code.hasPrefix(Self.moved) {
      Int(code.dropFirst(Self.moved.count))
    } else {
      nil
    }
  }

  private func isRefused(_ statuses: [Int], _ words: [String]) -> Bool {
    guard case .refused(let status, _, let said) = self, statuses.contains(status) else { return false }
    let lower = said.lowercased()
    return words.isEmpty || words.contains { lower.contains($0) }
  }

  /// Reports that the server does not know the method.
  var isUnknownMethod: Bool { isRefused([404], []) }
  /// Reports that the message shows that text already.
  var isUnmodified: Bool { isRefused([400], ["message is not modified"]) }
  /// Reports that the message is not there, or is none that can be changed any more.
  var isGone: Bool {
    isRefused(
      [400],
      ["message to edit not found", "message to delete not found", "message can't be edited", "message_id_invalid"])
  }
  /// Reports that the topic was deleted.
  var isWithoutTopic: Bool { isRefused([400], ["thread not found", "topic_deleted", "topic_id_invalid"]) }
  /// Reports that the same text in another form may be taken.
  var isAboutForm: Bool {
    guard newChat == nil, !isUnmodified, !isGone, !isWithoutTopic else { return false }
    return isUnknownMethod
      || isRefused([400], []) && !isRefused([400], ["chat not found", "not enough rights", "topic_closed"])
  }
  /// Reports that the person has blocked the bot, or the group has removed it.
  var isForbidden: Bool { isRefused([403], []) }
  /// Reports that the token is wrong, or was revoked.
  var isOfToken: Bool { isRefused([401], []) }

  /// The failure as the host knows it.
  var asDeliveryFailure: DeliveryFailure {
    if isOfToken { return .unauthorized(Self.tokenWords) }
    if isGone || isWithoutTopic || isRefused([400], ["chat not found"]) { return .notFound("Telegram: \(said)") }
    if isForbidden { return .forbidden("Telegram: \(said)") }
    return deliveryFailure(at: "Telegram")
  }

  static let tokenWords =
    "Telegram refuses the token: it is wrong, or was revoked; get another from @BotFather (/token) and put it where "
    + "relay.yaml has it"

  private var said: String { if case .refused(_, _, let words) = self { words } else { "" } }

  /// The failure in words.
  var words: String { asDeliveryFailure.wireError.message }
}
