internal import MessengerKit
internal import PluginSDK
internal import RelayJSON
internal import RelayWire

/// The bot's own account.
struct Me: Sendable, Equatable {
  var id: Int
  var name: String

  init?(_ user: JSONValue) {
    guard let id = user["id"]?.intValue, let name = user["username"]?.stringValue else { return nil }
    self.id = id
    self.name = name
  }
}

/// A file of a message, which has yet to be looked up.
struct TelegramFile: Sendable, Equatable {
  var id: String
  var name: String
  var mime: String?
  var size: Int?
}

/// Telegram's messages as the host knows them.
///
/// https://core.telegram.org/bots/api#message
struct TelegramMessages: Sendable {
  var me: Me
  var places: Places
  /// The relay's commands, by the names that Telegram's menu has for them.
  var commands: [String: String]

  /// The place where a message is; in a group without topics a thread is only a chain of replies.
  static func place(of message: JSONValue?) -> Place? {
    guard let chat = message?["chat"]?["id"]?.intValue else { return nil }
    return Place(
      chat: chat, topic: message?["is_topic_message"] == true ? message?["message_thread_id"]?.intValue : nil)
  }

  func conversation(_ place: Place, _ message: JSONValue? = nil) -> Conversation {
    let chat = message?["chat"]?["title"]?.stringValue
    guard place.topic != nil else {
      return Conversation(id: places.id(of: place), kind: place.isPrivate ? .dm : .channel, title: chat)
    }
    let topic = (message?["forum_topic_created"] ?? message?["reply_to_message"]?["forum_topic_created"])?["name"]?
      .stringValue
    return Conversation(
      id: places.id(of: place), kind: .thread, parent: places.id(of: Place(chat: place.chat)), title: topic ?? chat)
  }

  /// A message, or the messages of an album as one.
  ///
  /// - Returns: `nil` for what is no person's message to this bot.
  func received(_ messages: [JSONValue]) -> (message: MessageReceived, files: [TelegramFile])? {
    let parts = messages.sorted { ($0["message_id"]?.intValue ?? 0) < ($1["message_id"]?.intValue ?? 0) }
    guard let first = parts.first, let place = Self.place(of: first), let id = first["message_id"]?.intValue,
      let sender = Self.sender(first["from"])
    else { return nil }
    let words: [Words] = parts.map { self.words(of: $0) }
    guard !words.contains(where: \.isForAnother) else { return nil }
    let attached: [TelegramFile] = parts.flatMap { Self.files($0) }
    let text = (words.map(\.text) + parts.compactMap(Self.described)).filter { !$0.isEmpty }.joined(separator: "\n")
    guard !text.isEmpty || !attached.isEmpty else { return nil }
    let isReply = first["reply_to_message"]?["from"]?["id"]?.intValue == me.id && Self.quoted(first) != nil
    let isAddressed = !place.isPrivate && (isReply || words.contains(where: \.isAddressed))
    return (
      MessageReceived(
        id: places.id(ofMessage: id, in: place.chat), time: first["date"]?.doubleValue,
        conversation: conversation(place, first), sender: sender, text: text, mention: isAddressed ? true : nil,
        replyTo: quoted(first, place), forwarded: first["forward_origin"] != nil ? true : nil), attached
    )
  }

  /// - Parameter id: the id under which the host knows the message.
  func edited(_ message: JSONValue, as id: String) -> MessageEdited? {
    guard let place = Self.place(of: message), let sender = Self.sender(message["from"]) else { return nil }
    let words = words(of: message)
    guard !words.isForAnother, !words.text.isEmpty else { return nil }
    return MessageEdited(id: id, conversation: conversation(place, message), sender: sender, text: words.text)
  }

  /// A person; `nil` for bots, and for groups and channels that write themselves.
  static func sender(_ user: JSONValue?) -> Sender? {
    guard let user, user["is_bot"] != true, let id = user["id"]?.intValue else { return nil }
    return Sender(id: "\(id)", name: name(of: user))
  }

  static func name(of user: JSONValue?) -> String {
    let name = [user?["first_name"], user?["last_name"]].compactMap { $0?.stringValue }.joined(separator: " ")
    return name.isEmpty ? user?["username"]?.stringValue ?? "?" : name
  }

  // MARK: - Words

  private struct Words {
    var text: String
    var isAddressed = false
    /// A command for another bot of the group.
    var isForAnother = false
  }

  /// The words without the bot's own name, which says nothing to an agent. Entities count UTF-16 units.
  private func words(of message: JSONValue) -> Words {
    let (text, entities) =
      message["text"] != nil
      ? (message["text"], message["entities"]) : (message["caption"], message["caption_entities"])
    var units = Array((text?.stringValue ?? "").utf16)
    var words = Words(text: "")
    for entity in (entities?.list ?? []).sorted(by: { ($0["offset"]?.intValue ?? 0) > ($1["offset"]?.intValue ?? 0) }) {
      guard let start = entity["offset"]?.intValue, let length = entity["length"]?.intValue, start >= 0, length > 0,
        start <= units.count, length <= units.count - start
      else { continue }
      let range = start..<start + length
      let part = String(decoding: units[range], as: UTF16.self)
      switch entity["type"]?.stringValue {
      case "bot_command":
        let names = part.split(separator: "@", maxSplits: 1)
        if start == 0 { words.isAddressed = true }
        guard names.count == 2 else { continue }
        if names[1].lowercased() == me.name.lowercased() {
          units.replaceSubrange(range, with: names[0].utf16)
        } else if start == 0 {
          words.isForAnother = true
        }
      case "mention" where part.lowercased() == "@" + me.name.lowercased():
        words.isAddressed = true
        units.removeSubrange(range)
      case "text_mention" where entity["user"]?["id"]?.intValue == me.id:
        words.isAddressed = true
        units.removeSubrange(range)
      case "text_link":
        if let url = entity["url"]?.stringValue, url != part {
          units.replaceSubrange(range, with: "\(part) (\(url))".utf16)
        }
      default: break
      }
    }
    words.text = command(String(decoding: units, as: UTF16.self).trimmingWhitespace())
    return words
  }

  /// The text with the relay's own name of a command.
  private func command(_ text: String) -> String {
    guard text.hasPrefix("/") else { return text }
    let name = String(text.dropFirst().prefix { !$0.isWhitespace })
    // Telegram's own first word.
    if text == "/start" { return "/help" }
    return commands[name].map { "/" + $0 + text.dropFirst(name.count + 1) } ?? text
  }

  private static func quoted(_ message: JSONValue) -> JSONValue? {
    // The first message of a topic stands in for a reply.
    guard let original = message["reply_to_message"], original["forum_topic_created"] == nil else { return nil }
    return original
  }

  private func quoted(_ message: JSONValue, _ place: Place) -> QuotedMessage? {
    guard let original = Self.quoted(message), let id = original["message_id"]?.intValue else { return nil }
    let text = message["quote"]?["text"] ?? original["text"] ?? original["caption"]
    return QuotedMessage(
      id: places.id(ofMessage: id, in: place.chat), sender: Self.name(of: original["from"]), text: text?.stringValue)
  }

  // MARK: - Everything else

  private static func files(_ message: JSONValue) -> [TelegramFile] {
    if let largest = message["photo"]?.list.max(by: { area($0) < area($1) }) {
      return [file(largest, "photo.jpg", "image/jpeg")].compactMap(\.self)
    }
    // An animation comes as a document, too.
    for (kind, name) in [
      ("document", "document"), ("video", "video.mp4"), ("audio", "audio"), ("voice", "voice.ogg"),
      ("video_note", "video.mp4"), ("animation", "animation.mp4"),
    ] {
      if let found = message[kind] { return [file(found, name, nil)].compactMap(\.self) }
    }
    return []
  }

  private static func area(_ photo: JSONValue) -> Int {
    (photo["width"]?.intValue ?? 0) * (photo["height"]?.intValue ?? 0)
  }

  private static func file(_ data: JSONValue, _ name: String, _ mime: String?) -> TelegramFile? {
    data["file_id"]?.stringValue.map {
      TelegramFile(
        id: $0, name: data["file_name"]?.stringValue ?? name, mime: data["mime_type"]?.stringValue ?? mime,
        size: data["file_size"]?.intValue)
    }
  }

  /// In words, what has neither text nor file.
  private static func described(_ message: JSONValue) -> String? {
    func coordinates(_ location: JSONValue?) -> String {
      [location?["latitude"], location?["longitude"]].compactMap { $0?.doubleValue.map { "\($0)" } }.joined(
        separator: ", ")
    }
    if let sticker = message["sticker"] { return "[Sticker \(sticker["emoji"]?.stringValue ?? "")]" }
    if let venue = message["venue"] {
      let words = [venue["title"], venue["address"]].compactMap { $0?.stringValue }.joined(separator: ", ")
      return "[Place: \(words) (\(coordinates(venue["location"])))]"
    }
    if let location = message["location"] { return "[Location: \(coordinates(location))]" }
    if let contact = message["contact"] {
      return "[Contact: \(name(of: contact)), \(contact["phone_number"]?.stringValue ?? "")]"
    }
    if let poll = message["poll"] {
      let options = (poll["options"]?.list ?? []).compactMap { $0["text"]?.stringValue }.joined(separator: " / ")
      return "[Poll: \(poll["question"]?.stringValue ?? "") — \(options)]"
    }
    if let dice = message["dice"] {
      return "[\(dice["emoji"]?.stringValue ?? "Dice") \(dice["value"]?.intValue.map { "\($0)" } ?? "")]"
    }
    let others = ["story", "game", "invoice", "giveaway", "checklist", "paid_media"]
    return others.first { message[$0] != nil }.map { "[A message of the kind \($0), which cannot be passed on]" }
  }
}
