import RelayConcurrency
import RelayModel
import RelayWire

let place = ConversationKey(instance: "discord.default", conversation: "c1")

func message(_ id: String, _ text: String = "hello", in key: ConversationKey = place) -> StoredMessage {
  StoredMessage(
    key: MessageKey(conversation: key, id: id),
    message: MessageReceived(
      id: id, conversation: Conversation(id: key.conversation, kind: .dm), sender: Sender(id: "u", name: "U"),
      text: text))
}

func send(_ key: String, _ text: String = "hi") -> OutboundRecord {
  OutboundRecord(
    key: key, conversation: place,
    request: .message(MessageSend(key: key, conversation: place.conversation, text: text, role: .answer)))
}

/// A time that tests set.
final class Latched: Sendable {
  private let stored: Locked<Double>
  init(_ value: Double) { stored = Locked(value) }
  var value: Double {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}
