internal import RelayWire

/// Discord's messages as the host knows them.
enum DiscordMessages {
  /// - Parameter channels: of servers, that are listened to; direct messages always are.
  /// - Returns: nil for what is no person's message to this bot.
  static func received(_ data: JSONValue, channels: Set<String>, state: JSONValue?) -> MessageReceived? {
    // What Discord says itself, as that a thread has been made, comes as a message of who did it.
    guard [nil, 0, 19].contains(data["type"]?.integerValue), let id = data["id"]?.stringValue,
      let conversation = conversation(data, channels), let sender = sender(data)
    else { return nil }
    let (text, isForwarded) = words(of: data)
    return MessageReceived(
      id: id, conversation: conversation, sender: sender, text: text, replyTo: quoted(data["referenced_message"]),
      attachments: attachments(data), forwarded: isForwarded ? true : nil, state: state)
  }

  static func edited(_ data: JSONValue, channels: Set<String>) -> MessageEdited? {
    // Discord also says so when it has added a preview of a link.
    guard data["edited_timestamp"]?.stringValue != nil, let id = data["id"]?.stringValue,
      let conversation = conversation(data, channels), let sender = sender(data),
      let text = data["content"]?.stringValue
    else { return nil }
    return MessageEdited(id: id, conversation: conversation, sender: sender, text: text)
  }

  static func deleted(_ data: JSONValue, channels: Set<String>) -> MessageDeleted? {
    guard let id = data["id"]?.stringValue, let conversation = conversation(data, channels) else { return nil }
    return MessageDeleted(id: id, conversation: conversation)
  }

  private static func conversation(_ data: JSONValue, _ channels: Set<String>) -> Conversation? {
    guard let channel = data["channel_id"]?.stringValue else { return nil }
    if data["guild_id"]?.stringValue == nil { return Conversation(id: channel, kind: .dm) }
    return channels.contains(channel) ? Conversation(id: channel, kind: .channel) : nil
  }

  /// Nil for bots, this one among them, and webhooks.
  private static func sender(_ data: JSONValue) -> Sender? {
    guard data["author"]?["bot"] != true, data["webhook_id"]?.stringValue == nil,
      let id = data["author"]?["id"]?.stringValue
    else { return nil }
    let roles = data["member"]?["roles"].flatMap { try? JSONCoding.convert($0, to: [String].self) }
    return Sender(id: id, name: name(of: data["author"], data["member"]), roles: roles)
  }

  private static func name(of author: JSONValue?, _ member: JSONValue? = nil) -> String {
    member?["nick"]?.stringValue ?? author?["global_name"]?.stringValue ?? author?["username"]?.stringValue ?? "?"
  }

  private static func words(of data: JSONValue) -> (String, isForwarded: Bool) {
    if case .array(let snapshots)? = data["message_snapshots"], let first = snapshots.first {
      return (first["message"]?["content"]?.stringValue ?? "", true)
    }
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
        size: item["size"]?.integerValue, url: url)
    }
  }
}
