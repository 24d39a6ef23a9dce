internal import MessengerKit
internal import PluginSDK

/// Somebody used the command, a button, a menu, a form or a shortcut.
///
/// https://docs.slack.dev/reference/interaction-payloads
struct SlackInteraction: Sendable {
  enum Kind: Sendable, Equatable {
    case command(name: String, arguments: String)
    /// With the message that bears the button.
    case press(action: String, message: String)
    /// The button that opens a dialog's form.
    case formWanted(dialog: String)
    case form(dialog: String, text: String)
    /// A message that somebody hands to the agent.
    case handedOver(message: JSONValue)
  }

  /// The beginning of the ids of shortcuts that are commands.
  static let commandPrefix = "command:"
  static let askShortcut = "ask"

  let id: String
  let kind: Kind
  let user: String
  let userName: String
  let team: String?
  /// The conversation in which it was used; `nil` for a shortcut used anywhere.
  let place: SlackPlace?
  /// For answers that only this person sees, where it was used.
  let responseURL: String?
  /// Opens a form within three seconds.
  let trigger: String?
  /// The message with the button is shown to one person only.
  let isPrivate: Bool

  var isCommand: Bool { if case .command = kind { true } else { false } }

  /// It concerns a message where it was used.
  var isPress: Bool {
    switch kind {
    case .press, .form, .formWanted: true
    case .command, .handedOver: false
    }
  }

  /// The host's name for the interaction.
  var key: String { (isCommand ? "command:" : "action:") + id }

  /// Reads `/pi …`.
  init?(command data: JSONValue) {
    guard let id = data["trigger_id"]?.stringValue, let user = data["user_id"]?.stringValue,
      let channel = data["channel_id"]?.stringValue
    else { return nil }
    self.id = id
    self.user = user
    userName = data["user_name"]?.stringValue ?? user
    kind = Self.command(data["text"]?.stringValue ?? "")
    team = data["team_id"]?.stringValue
    place = SlackPlace(channel: channel)
    responseURL = data["response_url"]?.stringValue
    trigger = id
    isPrivate = false
  }

  /// Reads a press, a form or a shortcut; `nil` for what the bot does not use.
  init?(interaction data: JSONValue) {
    guard let user = data["user"]?["id"]?.stringValue, let kind = Self.kind(data) else { return nil }
    let container = data["container"]
    let channel = data["channel"]?["id"]?.stringValue ?? container?["channel_id"]?.stringValue
    let thread = data["message"]?["thread_ts"]?.stringValue ?? container?["thread_ts"]?.stringValue
    // A message that others have answered is the first of their thread, and stands where it stood.
    let isFirst = thread == (data["message"]?["ts"]?.stringValue ?? container?["message_ts"]?.stringValue)
    self.kind = kind
    self.user = user
    userName = data["user"]?["name"]?.stringValue ?? data["user"]?["username"]?.stringValue ?? user
    team = data["user"]?["team_id"]?.stringValue ?? data["team"]?["id"]?.stringValue
    trigger = data["trigger_id"]?.stringValue
    isPrivate = container?["is_ephemeral"] == true
    switch kind {
    case .form:
      guard let id = data["view"]?["id"]?.stringValue else { return nil }
      self.id = id
      place = data["view"]?["private_metadata"]?.stringValue.map { SlackPlace($0) }
    default:
      guard let trigger else { return nil }
      id = trigger
      place = channel.map { SlackPlace(channel: $0, thread: isFirst ? nil : thread) }
    }
    responseURL = data["response_url"]?.stringValue
  }

  private static func command(_ text: String) -> Kind {
    let words = SlackText.unescaped(text).trimmingWhitespace()
    let bare = words.hasPrefix("/") ? String(words.dropFirst()) : words
    let name = bare.prefix { !$0.isWhitespace }
    return .command(
      name: name.isEmpty ? "help" : String(name), arguments: String(bare.dropFirst(name.count)).trimmingWhitespace())
  }

  private static func kind(_ data: JSONValue) -> Kind? {
    switch data["type"]?.stringValue {
    case "block_actions": return press(data)
    case "view_submission":
      guard let dialog = data["view"]?["callback_id"]?.stringValue.flatMap(DialogChoices.dialog(ofForm:)) else {
        return nil
      }
      let text = data["view"]?["state"]?["values"]?["answer"]?["text"]?["value"]?.stringValue
      return .form(dialog: dialog, text: text ?? "")
    case "shortcut":
      guard let name = data["callback_id"]?.stringValue, name.hasPrefix(commandPrefix) else { return nil }
      return .command(name: String(name.dropFirst(commandPrefix.count)), arguments: "")
    case "message_action":
      guard data["callback_id"]?.stringValue == askShortcut, let message = data["message"] else { return nil }
      return .handedOver(message: message)
    default: return nil
    }
  }

  private static func press(_ data: JSONValue) -> Kind? {
    guard let action = data["actions"]?.list.first,
      let value = action["selected_option"]?["value"]?.stringValue ?? action["value"]?.stringValue
    else { return nil }
    if let dialog = DialogChoices.dialog(ofForm: value) { return .formWanted(dialog: dialog) }
    // A message that one person sees has no name of Slack's by which it could be changed, so it bears one of ours.
    let block = action["block_id"]?.stringValue ?? ""
    let own = block.hasPrefix(SlackReplies.prefix) ? String(block.prefix { $0 != "/" }) : nil
    guard let message = own ?? data["container"]?["message_ts"]?.stringValue ?? data["message"]?["ts"]?.stringValue
    else {
      return nil
    }
    return .press(action: value, message: message)
  }
}
