internal import MessengerKit
internal import RelayJSON
internal import RelayWire

/// Somebody used a command, a button, a select menu or a form.
///
/// https://discord.com/developers/docs/interactions/receiving-and-responding
struct Interaction: Sendable {
  enum Kind: Sendable, Equatable {
    case command(name: String, arguments: String)
    case completion(name: String, typed: String)
    /// With the message that bears the button.
    case press(action: String, message: String)
    /// The button that opens a dialog's form.
    case formWanted(dialog: String)
    case form(dialog: String, text: String)
  }

  static let selectMenu = "select"

  let id: String
  let token: String
  let application: String
  let kind: Kind
  let sender: Sender
  let channel: String
  /// `nil` in direct messages.
  let guild: String?
  /// Of the thread it was used in.
  let parent: String?
  /// The message with the button is shown to one person only.
  let isPrivate: Bool

  var isCommand: Bool { if case .command = kind { true } else { false } }

  /// The host's name for the interaction.
  var key: String { (isCommand ? "command:" : "action:") + id }

  /// Reads an interaction; `nil` for kinds that the bot does not use.
  init?(_ data: JSONValue) {
    let user = data["member"]?["user"] ?? data["user"]
    guard let id = data["id"]?.stringValue, let token = data["token"]?.stringValue,
      let application = data["application_id"]?.stringValue, let userID = user?["id"]?.stringValue,
      let channel = data["channel_id"]?.stringValue, let kind = Self.kind(data)
    else { return nil }
    self.id = id
    self.token = token
    self.application = application
    self.kind = kind
    self.channel = channel
    guild = data["guild_id"]?.stringValue
    let isThread = data["channel"]?["type"]?.intValue.map(Channels.threadTypes.contains) ?? false
    parent = isThread ? data["channel"]?["parent_id"]?.stringValue : nil
    isPrivate = (data["message"]?["flags"]?.intValue ?? 0) & DiscordMessages.ephemeral != 0
    sender = Sender(
      id: userID, name: DiscordMessages.name(of: user, data["member"]), roles: DiscordMessages.roles(data["member"]),
      bot: user?["bot"] == true ? true : nil)
  }

  private static func kind(_ data: JSONValue) -> Kind? {
    let words = data["data"]
    switch data["type"]?.intValue {
    case 2: return words?["name"]?.stringValue.map { .command(name: $0, arguments: text(words?["options"])) }
    case 3: return press(data)
    case 4: return words?["name"]?.stringValue.map { .completion(name: $0, typed: text(words?["options"])) }
    case 5:
      guard let dialog = words?["custom_id"]?.stringValue.flatMap(DialogChoices.dialog(ofForm:)) else { return nil }
      return .form(dialog: dialog, text: written(words?["components"]) ?? "")
    default: return nil
    }
  }

  private static func press(_ data: JSONValue) -> Kind? {
    guard let name = data["data"]?["custom_id"]?.stringValue, let message = data["message"]?["id"]?.stringValue else {
      return nil
    }
    if let dialog = DialogChoices.dialog(ofForm: name) { return .formWanted(dialog: dialog) }
    guard name == selectMenu else { return .press(action: name, message: message) }
    guard case .array(let values)? = data["data"]?["values"], let choice = values.first?.stringValue else { return nil }
    return .press(action: choice, message: message)
  }

  /// Our commands have one option at most.
  private static func text(_ options: JSONValue?) -> String {
    guard case .array(let options)? = options else { return "" }
    return options.first?["value"]?.stringValue ?? ""
  }

  /// The text that was written into the only field of a form.
  private static func written(_ rows: JSONValue?) -> String? {
    guard case .array(let rows)? = rows else { return nil }
    for row in rows {
      if let value = row["component"]?["value"]?.stringValue { return value }
      if case .array(let fields)? = row["components"], let value = fields.first?["value"]?.stringValue { return value }
    }
    return nil
  }
}
