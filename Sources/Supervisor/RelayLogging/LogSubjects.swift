package import Logging
package import RelayModel

extension Logger {
  /// The same logger with metadata on every line.
  package func with(_ key: String, _ value: String) -> Logger {
    var logger = self
    logger[metadataKey: key] = .string(value)
    return logger
  }

  /// The same logger for lines about a conversation.
  package func with(_ conversation: ConversationKey) -> Logger {
    with("instance", conversation.instance).with("conversation", conversation.conversation)
  }

  /// The same logger for lines about a session. The file can be searched by the id, which stays; people know the name.
  package func with(session id: String, named name: String) -> Logger {
    with("session", id).with("name", name)
  }
}
