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
  /// How often the agent ended before it had taken this message.
  package var attempts = 0
  /// It may have reached an earlier life of the agent; `entryBefore` is the session's last entry before that.
  package var isUncertain = false
  /// Taken already, by an earlier daemon or on the owner's behalf: no full queue refuses it.
  package var isAdmitted = false
  /// It was withdrawn while it was on its way: where the agent does not have it, it is not to be given.
  package var isWithdrawn = false
  package var entryBefore: String?

  package init(
    key: MessageKey, text: String, typed: String, attachments: [Attachment] = [], spoolFolder: String = "",
    proxy: String? = nil
  ) {
    self.key = key
    self.text = text
    self.typed = typed
    self.attachments = attachments
    self.spoolFolder = spoolFolder
    self.proxy = proxy
  }
}
