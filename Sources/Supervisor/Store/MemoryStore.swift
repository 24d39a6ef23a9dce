package import RelayWire

/// A store that lives as long as the daemon. Bounded: finished work is forgotten, oldest first.
package actor MemoryStore: Store {
  /// Finished messages remembered, so that a repeat of one is recognised.
  static let rememberedMessages = 20_000
  /// Settled sends are of no further use; a few are kept for looking at.
  static let rememberedSends = 128

  private var messages: [MessageKey: StoredMessage] = [:]
  private var stages: [MessageKey: MessageStage] = [:]
  private var order: [MessageKey] = []
  private var finished: [MessageKey] = []
  private var sends: [String: OutboundRecord] = [:]
  private var settledSends: [String] = []
  private var states: [String: JSONValue] = [:]
  private var bindings: [ConversationKey: String] = [:]

  package init() {}

  package func accept(_ message: StoredMessage, state: JSONValue?) -> Bool {
    if let state { states[message.key.conversation.instance] = state }
    guard stages[message.key] == nil else { return false }
    stages[message.key] = .received
    messages[message.key] = message
    order.append(message.key)
    return true
  }

  package func advance(_ key: MessageKey, to stage: MessageStage) {
    guard let current = stages[key], !current.isFinal else { return }
    stages[key] = stage
    guard stage.isFinal else { return }
    messages[key] = nil
    if let index = order.firstIndex(of: key) { order.remove(at: index) }
    finished.append(key)
    if finished.count > Self.rememberedMessages {
      for old in finished.prefix(1_000) { stages[old] = nil }
      finished.removeFirst(1_000)
    }
  }

  package func unfinishedMessages() -> [StoredMessage] { order.compactMap { messages[$0] } }

  package func stage(of key: MessageKey) -> MessageStage? { stages[key] }

  package func recordOutbound(_ record: OutboundRecord) { sends[record.key] = record }

  package func settleOutbound(_ key: String, _ result: OutboundResult) {
    sends[key]?.result = result
    settledSends.append(key)
    if settledSends.count > Self.rememberedSends {
      for old in settledSends.prefix(64) { sends[old] = nil }
      settledSends.removeFirst(64)
    }
  }

  package func outbound(_ key: String) -> OutboundRecord? { sends[key] }

  package func pluginState(of instance: String) -> JSONValue? { states[instance] }

  package func savePluginState(_ state: JSONValue, of instance: String) { states[instance] = state }

  package func binding(of conversation: ConversationKey) -> String? { bindings[conversation] }

  package func bind(_ conversation: ConversationKey, to session: String?) { bindings[conversation] = session }
}
