internal import RelayConcurrency
internal import RelayModel
internal import RelayStore
internal import RelayWire

// Messages that their agents have forgotten, which a button beneath the report of their end runs again. Their words are
// kept with that end, and go when the button is pressed: each runs once more at most, whichever daemon is told.
extension Router {
  private static let buttonPrefix = "again:"

  /// - Returns: `nil` where the messenger has no buttons, or none whose id holds the message's.
  static func buttonToRunAgain(_ message: MessageKey, within limits: ButtonLimits?) -> [[Button]]? {
    let id = buttonPrefix + message.id
    guard let limits, id.utf8.count <= limits.idLength else { return nil }
    return [[Button(id: id, label: "Run again", style: .primary)]]
  }

  /// The key of the message that a button runs again; nil for any other button.
  static func messageToRunAgain(_ action: ActionInvoked, _ key: ConversationKey) -> MessageKey? {
    guard action.action.hasPrefix(buttonPrefix) else { return nil }
    return MessageKey(conversation: key, id: String(action.action.dropFirst(buttonPrefix.count)))
  }

  /// A forgotten message as the new one that the press of its button stands for.
  static func message(runningAgain ended: MessageReceived, for action: ActionInvoked) -> MessageReceived {
    // Whole: words after /followup may look like another command.
    var message = ended
    message.id = id(of: action)
    message.sender = action.sender
    return message
  }
}
