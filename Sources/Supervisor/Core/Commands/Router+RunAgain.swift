internal import RelayModel
internal import RelayPipes
internal import RelayStore
internal import RelayWire

/// Messages that their agents have forgotten, which a button beneath the report of their end runs again. Each runs once more
/// at most.
final class ForgottenMessages: Sendable {
  /// Longest text that is kept, in bytes; a longer message is written again.
  static let longestText = 64 << 10
  /// Messages kept at most; the oldest gives way.
  static let maximumCount = 32

  private let kept = Locked<[Prompt]>([])

  static func canKeep(_ prompt: Prompt) -> Bool { prompt.typed.utf8.count <= longestText }

  func keep(_ prompt: Prompt) {
    guard Self.canKeep(prompt) else { return }
    kept.withLock { $0 = $0.filter { $0.key != prompt.key }.suffix(Self.maximumCount - 1) + [prompt] }
  }

  /// The message, which is then no longer kept.
  func take(_ key: MessageKey) -> Prompt? {
    kept.withLock { kept in kept.firstIndex { $0.key == key }.map { kept.remove(at: $0) } }
  }
}

extension Router {
  private static let buttonPrefix = "again:"

  /// Nil for a message that is too long to be kept.
  static func buttonToRunAgain(_ prompt: Prompt) -> [[Button]]? {
    guard ForgottenMessages.canKeep(prompt) else { return nil }
    return [[Button(id: buttonPrefix + prompt.key.id, label: "Run again", style: .primary)]]
  }

  /// The key of the message that a button runs again; nil for any other button.
  static func messageToRunAgain(_ action: ActionInvoked, _ key: ConversationKey) -> MessageKey? {
    guard action.action.hasPrefix(buttonPrefix) else { return nil }
    return MessageKey(conversation: key, id: String(action.action.dropFirst(buttonPrefix.count)))
  }

  /// A forgotten message as the new one that the press of its button stands for.
  static func message(runningAgain prompt: Prompt, for action: ActionInvoked) -> MessageReceived {
    MessageReceived(
      id: id(of: action), conversation: action.conversation, sender: action.sender, text: prompt.typed,
      attachments: prompt.attachments.isEmpty ? nil : prompt.attachments)
  }
}
