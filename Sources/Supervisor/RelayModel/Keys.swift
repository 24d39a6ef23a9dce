/// A conversation on one messenger instance.
package struct ConversationKey: Hashable, Sendable, Codable, CustomStringConvertible {
  package var instance: String
  package var conversation: String

  package init(instance: String, conversation: String) {
    self.instance = instance
    self.conversation = conversation
  }

  package var description: String { "\(instance):\(conversation)" }

  /// How the instances of local terminals begin.
  package static let terminalPrefix = "attached/"

  /// True for `pi-relayd chat`, which only the daemon's own user can start.
  package var isLocalTerminal: Bool { instance.hasPrefix(Self.terminalPrefix) }

  /// The instance of messages from programs; no plugin has such a name. Its conversations are sessions, by their ids.
  package static let programs = "pi-relayd/programs"

  /// True for programs of the daemon's own user, which are no messengers.
  package var isProgram: Bool { instance == Self.programs }
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
