internal import RelayStore
internal import RelayWire

// A message that the agent has no memory of can be run again by a button beneath the report of its end.
extension Router {
  /// Longest text that is kept for another run, in bytes. A longer message is written again.
  private static let longestKept = 64 << 10
  private static let buttonPrefix = "again:"

  /// The last message of each conversation is kept: it is the one that may be run again.
  func keepForAnotherRun(_ message: MessageReceived, _ key: ConversationKey) {
    lastMessages[key] = message.text.utf8.count <= Self.longestKept ? message : nil
  }

  /// - Parameter message: the id of the message on its platform.
  static func buttonToRunAgain(_ message: String) -> [[Button]] {
    [[Button(id: buttonPrefix + message, label: "Run again", style: .primary)]]
  }

  /// The message as a new one, which the press of a button stands for; nil for any other button.
  func messageToRunAgain(_ action: ActionInvoked, _ key: ConversationKey) -> MessageReceived? {
    guard action.action.hasPrefix(Self.buttonPrefix) else { return nil }
    let id = action.action.dropFirst(Self.buttonPrefix.count)
    guard var message = lastMessages[key], message.id == id else { return nil }
    message.id = Self.id(of: action)
    message.sender = action.sender
    message.state = nil
    return message
  }
}
