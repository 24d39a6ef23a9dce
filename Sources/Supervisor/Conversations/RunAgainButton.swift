package import RelayModel
package import RelayWire

/// The button beneath the report of a forgotten message, which runs the message again.
package enum RunAgainButton {
  private static let prefix = "again:"

  /// - Returns: `nil` where the messenger has no buttons, or none whose id holds the message's.
  package static func rows(for message: MessageKey, within limits: ButtonLimits?) -> [[Button]]? {
    let id = prefix + message.id
    guard let limits, id.utf8.count <= limits.idLength else { return nil }
    return [[Button(id: id, label: "Run again", style: .primary)]]
  }

  /// The message that a pressed button runs again; `nil` for any other button.
  package static func message(of action: ActionInvoked, in conversation: ConversationKey) -> MessageKey? {
    guard action.action.hasPrefix(prefix) else { return nil }
    return MessageKey(conversation: conversation, id: String(action.action.dropFirst(prefix.count)))
  }
}
