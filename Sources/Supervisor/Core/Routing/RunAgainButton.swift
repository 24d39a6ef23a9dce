internal import RelayModel
internal import RelayWire

/// The button beneath the report of a message that its agent has forgotten. The message's words are kept with its end and go
/// when the button is pressed: each runs once more at most, whichever daemon receives the press.
enum RunAgainButton {
  private static let prefix = "again:"

  /// - Returns: `nil` where the messenger has no buttons, or none whose id holds the message's.
  static func buttons(for message: MessageKey, within limits: ButtonLimits?) -> [[Button]]? {
    let id = prefix + message.id
    guard let limits, id.utf8.count <= limits.idLength else { return nil }
    return [[Button(id: id, label: "Run again", style: .primary)]]
  }

  /// The message that a pressed button runs again; `nil` for any other button.
  static func message(of action: ActionInvoked, _ key: ConversationKey) -> MessageKey? {
    guard action.action.hasPrefix(prefix) else { return nil }
    return MessageKey(conversation: key, id: String(action.action.dropFirst(prefix.count)))
  }

  /// A forgotten message as the new one that the press of its button stands for.
  static func message(runningAgain ended: MessageReceived, for action: ActionInvoked) -> MessageReceived {
    // Whole: words after /followup may look like another command.
    var message = ended
    message.id = MessageOrigin.action(action.id).id
    message.sender = action.sender
    return message
  }
}
