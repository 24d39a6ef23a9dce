internal import Conversations
internal import RelayConcurrency
internal import RelayModel
internal import RelayStore
internal import RelayWire

// Messages that their agents have forgotten, which a button beneath the report of their end runs again. Their words are
// kept with that end, and go when the button is pressed: each runs once more at most, whichever daemon is told.
extension Router {
  /// The key of the message that a button runs again; nil for any other button.
  static func messageToRunAgain(_ action: ActionInvoked, _ key: ConversationKey) -> MessageKey? {
    RunAgainButton.message(of: action, in: key)
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
