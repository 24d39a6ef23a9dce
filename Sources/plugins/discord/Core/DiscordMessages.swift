internal import MessengerKit
internal import RelayJSON
internal import RelayWire

/// Discord's messages as the host knows them.
enum DiscordMessages {
  /// The flag of a message that only one person sees.
  static let ephemeral = 1 << 6

  /// - Parameter me: the bot's own id.
  /// - Returns: nil for what is no person's message.
  static func received(_ data: JSONValue, in conversation: Conversation, me: String?) -> MessageReceived? {
    // A notice of Discord's own, for example that a thread was made, comes as a message of the person who caused it.
    guard [nil, 0, 19].contains(data["type"]?.intValue), let id = data["id"]?.stringValue,
      let sender = sender(data)
    else { return nil }
    let (words, isForwarded) = words(of: data)
    let text = isForwarded ? words : without(me, words)
    return MessageReceived(
      id: id, conversation: conversation, sender: sender, text: text, mention: isAddressed(data, me) ? true : nil,
      replyTo: quoted(data["referenced_message"]), attachments: attachments(isForwarded ? forwarded(data) : data),
      forwarded: isForwarded ? true : nil)
  }

  static func edited(_ data: JSONValue, in conversation: Conversation, me: String?) -> MessageEdited? {
    // Discord also says so when it has added a preview of a link.
    guard data["edited_timestamp"]?.stringValue != nil, let id = data["id"]?.stringValue, let sender = sender(data),
      let text = data["content"]?.stringValue
    else { return nil }
    return MessageEdited(id: id, conversation: conversation, sender: sender, text: without(me, text))
  }

  static func deleted(_ data: JSONValue, in conversation: Conversation) -> MessageDeleted? {
    data["id"]?.stringValue.map { MessageDeleted(id: $0, conversation: conversation) }
  }

  /// Reports whether a message mentions the bot or replies to it.
  static func isAddressed(_ data: JSONValue, _ me: String?) -> Bool {
    guard let me else { return false }
    if data["referenced_message"]?["author"]?["id"]?.stringValue == me { return true }
    guard case .array(let users)? = data["mentions"] else { return false }
    return users.contains { $0["id"]?.stringValue == me }
  }

  /// The words without the bot's own name, which says nothing to an agent.
  private static func without(_ me: String?, _ text: String) -> String {
    guard let me, text.contains("<@") else { return text }
    return ["<@\(me)>", "<@!\(me)>"].reduce(text) { $0.replacing($1, with: "") }.trimmingWhitespace()
  }

  /// Reads a message; `nil` for messages of bots, this one included, and of webhooks.
  private static func sender(_ data: JSONValue) -> Sender? {
    guard data["author"]?["bot"] != true, data["webhook_id"]?.stringValue == nil,
      let id = data["author"]?["id"]?.stringValue
    else { return nil }
    return Sender(id: id, name: name(of: data["author"], data["member"]), roles: roles(data["member"]))
  }

  static func roles(_ member: JSONValue?) -> [String]? {
    guard case .array(let roles)? = member?["roles"] else { return nil }
    return roles.compactMap(\.stringValue)
  }

  static func name(of author: JSONValue?, _ member: JSONValue? = nil) -> String {
    member?["nick"]?.stringValue ?? author?["global_name"]?.stringValue ?? author?["username"]?.stringValue ?? "?"
  }

  /// The message that was forwarded.
  private static func forwarded(_ data: JSONValue) -> JSONValue {
    guard case .array(let snapshots)? = data["message_snapshots"] else { return .null }
    return snapshots.first?["message"] ?? .null
  }

  private static func words(of data: JSONValue) -> (String, isForwarded: Bool) {
    let original = forwarded(data)
    if original != .null { return (original["content"]?.stringValue ?? "", true) }
    return (data["content"]?.stringValue ?? "", false)
  }

  private static func quoted(_ data: JSONValue?) -> QuotedMessage? {
    guard let data, let id = data["id"]?.stringValue else { return nil }
    return QuotedMessage(id: id, sender: name(of: data["author"]), text: data["content"]?.stringValue ?? "")
  }

  private static func attachments(_ data: JSONValue) -> [Attachment]? {
    guard case .array(let items)? = data["attachments"], !items.isEmpty else { return nil }
    return items.compactMap { item in
      guard let id = item["id"]?.stringValue, let url = item["url"]?.stringValue else { return nil }
      return Attachment(
        id: id, name: item["filename"]?.stringValue ?? id, mime: item["content_type"]?.stringValue,
        size: item["size"]?.intValue, url: url)
    }
  }
}
