internal import MessageDelivery
internal import RelayConfig
internal import RelayModel
internal import RelayText
internal import RelayWire

/// Sends the relay's own words to one conversation: redacted, and in pieces that fit the messenger.
struct NoticeSender: Sendable {
  let delivery: MessageSender
  let redaction: Redactor

  /// - Parameter ending: the message whose end this reports.
  /// - Returns: false when it could not be recorded.
  @discardableResult
  func say(
    _ text: String, _ role: MessageRole = .notice, buttons: [[Button]]? = nil, replyTo: String? = nil,
    ending: MessageEnd? = nil, in profile: MessengerProfile
  ) async -> Bool {
    let pieces = PlainText.split(redaction.apply(to: text), limit: profile.limit, unit: profile.unit)
    let records = pieces.enumerated().map { index, piece in
      delivery.compose(
        piece.text, role: role, buttons: index == pieces.count - 1 ? buttons : nil,
        replyTo: replyTo)
    }
    guard await delivery.record(records, ending: ending) else { return false }
    for record in records { _ = await delivery.sendRecorded(record) }
    return true
  }

  /// Says in the conversation that something was given up, where that is wanted.
  func tellGivenUp(_ text: String, in profile: MessengerProfile) async {
    if delivery.settings.tellsConversations { await say("⚠️ \(text)", in: profile) }
  }
}
