internal import MessengerKit
internal import PluginSDK

/// The state that the host keeps for the next process, together with each message.
struct TelegramState: Sendable {
  /// Telegram numbers updates anew after a week without any: an older position means nothing.
  private static let life = 6 * 86_400.0
  private static let maximumKept = 200

  /// The updates that the host has everything of.
  var position = StreamPosition()
  var places: Places
  /// When the last update arrived, in seconds since 1970.
  private var time = 0.0
  /// Answers that were shown as drafts while they grew, by the host's id, the last one at the end. Without a message: it was being
  /// sent, and nobody knows whether it was.
  private var drafts: [(id: String, message: Int?)] = []

  /// The topics that the bot has opened, the last one at the end: every message there is for the bot.
  private var topics: [String] = []
  private let bot: Int

  /// - Parameter bot: the bot's id: the position of another bot means nothing to it.
  init(_ kept: JSONValue?, bot: Int) {
    self.bot = bot
    places = Places(kept: kept?["moved"])
    topics = kept?["topics"]?.list.compactMap { $0.stringValue } ?? []
    if let last = kept?["last"]?.intValue, kept?["bot"]?.intValue == bot { position.saw(last) }
    time = kept?["time"]?.doubleValue ?? 0
    for case .array(let pair) in kept?["drafts"]?.list ?? [] where pair.count == 2 {
      if let id = pair[0].stringValue { drafts.append((id, pair[1].intValue)) }
    }
  }

  var asJSON: JSONValue {
    var state: [String: JSONValue] = [
      "bot": .integer(Int64(bot)), "moved": places.asJSON, "topics": .array(topics.map { .string($0) }),
      "time": .integer(Int64(time)),
      "drafts": .array(drafts.map { [.string($0.id), $0.message.map { .integer(Int64($0)) } ?? .null] }),
    ]
    if let last = position.safe { state["last"] = .integer(Int64(last)) }
    return .object(state)
  }

  /// The first update to ask for, which confirms those before it; `nil` for whatever there is.
  func offset(now: Double) -> Int? { now - time < Self.life ? position.safe.map { $0 + 1 } : nil }

  /// Begins to handle an update.
  mutating func began(_ update: Int, now: Double) {
    time = now
    position.saw(update)
    position.begin(update)
  }

  /// The state once the host has these updates as well.
  func after(_ updates: [Int]) -> TelegramState {
    var state = self
    for update in updates { state.position.finish(update) }
    return state
  }

  /// The bot has opened a topic.
  mutating func opened(_ topic: String) {
    topics.append(topic)
    if topics.count > Self.maximumKept { topics.removeFirst() }
  }

  /// Reports that every message in a place is for the bot.
  ///
  /// - Parameter channels: the groups that the configuration names.
  func isHome(_ place: Place, _ channels: [String]) -> Bool {
    place.isPrivate || topics.contains(places.id(of: place)) || channels.contains("\(place.chat)")
      || channels.contains(places.id(of: Place(chat: place.chat)))
  }

  // MARK: - Drafts

  enum Draft: Equatable {
    /// It is still growing, or not known.
    case open
    case uncertain
    case sent(Int)
  }

  func draft(_ id: String) -> Draft {
    guard let draft = drafts.last(where: { $0.id == id }) else { return .open }
    return draft.message.map { .sent($0) } ?? .uncertain
  }

  mutating func set(_ draft: Draft, of id: String) {
    drafts.removeAll { $0.id == id }
    switch draft {
    case .open: return
    case .uncertain: drafts.append((id, nil))
    case .sent(let message): drafts.append((id, message))
    }
    if drafts.count > Self.maximumKept { drafts.removeFirst() }
  }
}
