internal import MessengerKit
internal import PluginSDK

/// A chat, or a topic in one, as Telegram addresses it.
struct Place: Sendable, Hashable {
  /// Negative for groups.
  var chat: Int
  /// The topic's `message_thread_id`.
  var topic: Int?

  var isPrivate: Bool { chat > 0 }

  /// The parameters that address it.
  var parameters: [String: JSONValue] {
    var parameters: [String: JSONValue] = ["chat_id": .integer(Int64(chat))]
    if let topic { parameters["message_thread_id"] = .integer(Int64(topic)) }
    return parameters
  }
}

/// The host's ids of conversations and messages. A group that becomes a supergroup keeps its conversation; because the ids of its
/// messages begin again, they get a mark then. A pure value.
struct Places: Sendable, Equatable {
  /// By supergroup, the group that it was.
  private var groups: [Int: Int] = [:]

  init(kept: JSONValue?) {
    for case .array(let pair) in kept?.list ?? [] where pair.count == 2 {
      if let new = pair[0].intValue, let old = pair[1].intValue { groups[new] = old }
    }
  }

  var asJSON: JSONValue {
    .array(groups.sorted { $0.key < $1.key }.map { [.integer(Int64($0.key)), .integer(Int64($0.value))] })
  }

  /// A group has become a supergroup.
  ///
  /// - Returns: false when that was known.
  @discardableResult
  mutating func moved(_ old: Int, to new: Int) -> Bool {
    guard groups[new] == nil, old != new else { return false }
    groups[new] = groups[old] ?? old
    return true
  }

  /// The host's id of a place: `CHAT` or `CHAT:TOPIC`.
  func id(of place: Place) -> String {
    let chat = groups[place.chat] ?? place.chat
    return place.topic.map { "\(chat):\($0)" } ?? "\(chat)"
  }

  /// The place that the host's id means; `nil` for none.
  func place(_ id: String) -> Place? {
    let parts = id.split(separator: ":", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let chat = Int(parts[0]) else { return nil }
    let topic = parts.count == 2 ? Int(parts[1]) : nil
    if parts.count == 2, topic == nil { return nil }
    return Place(chat: groups.first { $0.value == chat }?.key ?? chat, topic: topic)
  }

  /// The host's id of a message.
  func id(ofMessage message: Int, in chat: Int) -> String { groups[chat] == nil ? "\(message)" : "s\(message)" }

  /// The message that the host's id means in a chat; `nil` for one of the group that the chat was.
  func message(_ id: String, in chat: Int) -> Int? {
    groups[chat] == nil ? Int(id) : id.hasPrefix("s") ? Int(id.dropFirst()) : nil
  }
}
