/// A conversation on one messenger instance.
package struct ConversationKey: Hashable, Sendable, Codable, CustomStringConvertible {
  package var instance: String
  package var conversation: String

  package init(instance: String, conversation: String) {
    self.instance = instance
    self.conversation = conversation
  }

  package var description: String { "\(instance):\(conversation)" }
}

/// A message is known by where it came from and the platform's own id.
package struct MessageKey: Hashable, Sendable, Codable {
  package var conversation: ConversationKey
  package var id: String

  package init(conversation: ConversationKey, id: String) {
    self.conversation = conversation
    self.id = id
  }

  /// The beginning of the ids of messages that bring an assistant's own findings.
  package static let heartbeatPrefix = "heartbeat:"

  package var isFromHeartbeat: Bool { id.hasPrefix(Self.heartbeatPrefix) }
}
