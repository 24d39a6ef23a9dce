package import RelayWire

/// A session as it must be found again: pi keeps what was said in it.
package struct SessionRecord: Sendable, Equatable {
  package var id: String
  package var name: String
  package var directory: String
  package var model: String?
  package var wantsToolImages: Bool
  package var role: SessionRole?
  /// The conversation that began it.
  package var home: ConversationKey?
  /// The model that its agent named last, as people are shown it.
  package var shownModel: String?
  /// A person runs its agent in a terminal: the daemon starts none.
  package var isAttached: Bool

  package init(
    id: String, name: String, directory: String, model: String?, wantsToolImages: Bool, role: SessionRole? = nil,
    home: ConversationKey? = nil, shownModel: String? = nil, isAttached: Bool = false
  ) {
    self.id = id
    self.name = name
    self.directory = directory
    self.model = model
    self.wantsToolImages = wantsToolImages
    self.role = role
    self.home = home
    self.shownModel = shownModel
    self.isAttached = isAttached
  }
}

extension SessionRecord {
  /// The variable with the session's id in the environment of its processes.
  package static let environmentVariable = "PI_RELAY_SESSION"
  /// The variable that tells the programs of a pi in a terminal its process id.
  package static let attachedVariable = "PI_RELAY_ATTACHED"
}

/// The role of a session that is not an ordinary coding session.
package enum SessionRole: String, Sendable {
  /// Of a conversation with the assistant.
  case assistant
  /// The same, with the one whose assistant it is.
  case owner
}

/// A conversation and the session it talks to.
package struct Binding: Sendable, Equatable {
  package var key: ConversationKey
  package var conversation: Conversation
  package var session: String

  package init(key: ConversationKey, conversation: Conversation, session: String) {
    self.key = key
    self.conversation = conversation
    self.session = session
  }
}
