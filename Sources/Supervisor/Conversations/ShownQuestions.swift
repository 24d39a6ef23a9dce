internal import MessageDelivery

/// The messages that show open questions, by the question's id. A pure value.
struct ShownQuestions: Codable, Equatable {
  private var messages: [String: MessageSender.Sent] = [:]

  var keys: Set<String> { Set(messages.values.map(\.key)) }

  mutating func show(_ id: String, _ sent: MessageSender.Sent?) { messages[id] = sent }

  mutating func takeMessage(of id: String) -> MessageSender.Sent? { messages.removeValue(forKey: id) }

  mutating func takeAll() -> [(id: String, sent: MessageSender.Sent)] {
    defer { messages = [:] }
    return messages.map { ($0.key, $0.value) }
  }
}
