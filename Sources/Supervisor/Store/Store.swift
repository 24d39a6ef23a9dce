package import RelayWire

/// Where everything that must survive is kept. A message is acknowledged only after a call here has returned.
///
/// This build keeps it in memory (`MemoryStore`); what a crash of the daemon must not lose goes through these calls
/// already, in the order that a durable store needs.
package protocol Store: Sendable {
  // MARK: Inbound

  /// Stores a message and, in the same step, the plugin's new state. `false`: it was stored before.
  func accept(_ message: StoredMessage, state: JSONValue?) async throws -> Bool
  /// Moves a message on.
  func advance(_ key: MessageKey, to stage: MessageStage) async throws
  /// Messages that have not ended, oldest first.
  func unfinishedMessages() async throws -> [StoredMessage]
  func stage(of key: MessageKey) async -> MessageStage?

  // MARK: Outbound

  /// Records what is about to be sent.
  func recordOutbound(_ record: OutboundRecord) async throws
  /// Records what became of it.
  func settleOutbound(_ key: String, _ result: OutboundResult) async throws
  func outbound(_ key: String) async -> OutboundRecord?

  // MARK: The rest

  func pluginState(of instance: String) async -> JSONValue?
  func savePluginState(_ state: JSONValue, of instance: String) async throws
  func binding(of conversation: ConversationKey) async -> String?
  func bind(_ conversation: ConversationKey, to session: String?) async throws
}

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
}

/// How far a message has come. Every one ends as settled, interrupted or dropped.
package enum MessageStage: Sendable, Equatable, Codable {
  case received
  /// Handed to the agent; whether it took it is not known yet. `after` is the session's last entry before it.
  case dispatching(session: String, after: String?)
  case accepted(session: String)
  case settled
  case interrupted
  case dropped

  package var isFinal: Bool {
    switch self {
    case .settled, .interrupted, .dropped: true
    case .received, .dispatching, .accepted: false
    }
  }
}

package struct StoredMessage: Sendable, Equatable {
  package var key: MessageKey
  package var message: MessageReceived

  package init(key: MessageKey, message: MessageReceived) {
    self.key = key
    self.message = message
  }
}

package struct OutboundRecord: Sendable, Equatable {
  package var key: String
  package var conversation: ConversationKey
  package var text: String
  package var result: OutboundResult?

  package init(key: String, conversation: ConversationKey, text: String) {
    self.key = key
    self.conversation = conversation
    self.text = text
  }
}

package enum OutboundResult: Sendable, Equatable {
  case sent(message: String)
  case failed(String)
  case unknown
}
