/// A conversation, or all of a kind, as the configuration sets it up.
package struct ChannelStatus: Codable, Sendable, Equatable {
  package var instance: String
  /// The platform's id, or a kind of conversation.
  package var channel: String
  /// Which session it talks to: see `Config.Use`.
  package var use: String

  package init(instance: String, channel: String, use: String) {
    self.instance = instance
    self.channel = channel
    self.use = use
  }
}

package struct ConversationStatus: Codable, Sendable, Equatable {
  package var instance: String
  package var conversation: String
  package var kind: String
  package var title: String?
  /// The session's name.
  package var session: String
  /// Its messenger is here now.
  package var isConnected: Bool

  package init(
    instance: String, conversation: String, kind: String, title: String? = nil, session: String, isConnected: Bool
  ) {
    self.instance = instance
    self.conversation = conversation
    self.kind = kind
    self.title = title
    self.session = session
    self.isConnected = isConnected
  }
}

package struct DeliveryStatus: Codable, Sendable, Equatable {
  package var instance: String
  /// Recorded, and not yet known to have arrived.
  package var waiting: Int
  /// Given up, as far back as is kept (`storage.keepDays`).
  package var failed: Int
  /// The reason why the last of these was given up.
  package var lastFailure: String?

  package init(instance: String, waiting: Int, failed: Int, lastFailure: String? = nil) {
    self.instance = instance
    self.waiting = waiting
    self.failed = failed
    self.lastFailure = lastFailure
  }
}
