package import RelayWire

/// A message on its way to the agent.
package struct Prompt: Codable, Sendable, Equatable {
  package var key: MessageKey
  /// As the agent gets it, before attachments.
  package var text: String
  /// As the person typed it.
  package var typed: String
  package var attachments: [Attachment]
  package var spoolFolder: String
  package var proxy: String?
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
}
