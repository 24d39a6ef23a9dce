package import RelayWire

/// A message on its way to the agent.
package struct Prompt: Codable, Sendable, Equatable {
  /// The person who wrote a message, or pressed its button.
  package struct Author: Codable, Sendable, Equatable {
    /// The platform's id.
    package var id: String
    package var name: String

    package init(id: String, name: String) {
      self.id = id
      self.name = name
    }
  }

  package var key: MessageKey
  /// As the agent gets it, before attachments.
  package var text: String
  /// As the person typed it.
  package var typed: String
  package var attachments: [Attachment]
  package var spoolFolder: String
  package var proxy: String?
  /// `nil` where nobody wrote the message, and of earlier versions.
  package var author: Author?
  /// Hosts that the messenger's attachments come from.
  package var hosts: [String]?
  /// Its life so far.
  package var life: MessageLifecycle

  package init(
    key: MessageKey, text: String, typed: String, attachments: [Attachment] = [], spoolFolder: String = "",
    proxy: String? = nil, life: MessageLifecycle = MessageLifecycle()
  ) {
    self.key = key
    self.text = text
    self.typed = typed
    self.attachments = attachments
    self.spoolFolder = spoolFolder
    self.proxy = proxy
    self.life = life
  }

  /// The person to ask about what the agent does for this message; `nil` where nobody wrote it.
  package var requester: Requester? {
    author.map { Requester(conversation: key.conversation, person: $0.id) }
  }
}
