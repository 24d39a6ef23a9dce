internal import ChatCommands
internal import RelayText
internal import RelayWire

/// The text that the agent is given for a person's message.
enum PromptText {
  /// The longest quotation, in characters.
  static let quoteLimit = 200

  /// A direct message reaches the agent exactly as typed. In a channel or thread, where several people write, the
  /// author's name precedes it. A quotation is labelled as another person's words, and is never read as a command. A
  /// command of the agent works only at the very beginning, so that nothing precedes it.
  ///
  /// - Parameter agentCommands: the names of the agent's own commands; `nil` while they are unknown.
  static func compose(_ message: MessageReceived, agentCommands: Set<String>? = nil) -> String {
    if message.forwarded != true, isAgentCommand(message.text, among: agentCommands) { return message.text }
    var parts: [String] = []
    if let quote = message.replyTo, let text = quote.text, !text.isEmpty {
      let author = TextSanitizer.name(quote.sender ?? "")
      parts.append(
        "[In reply to these words of \(author): \"\(TextSanitizer.quotation(text, limit: quoteLimit))\"]")
    }
    if message.forwarded == true { parts.append("[Forwarded words of someone else:]") }
    if message.conversation.kind == .dm {
      parts.append(message.text)
    } else {
      parts.append("[\(TextSanitizer.name(message.sender.name))]: \(message.text)")
    }
    return parts.joined(separator: "\n")
  }

  /// True for a text that may be a command of the agent, a skill or a template. The agent's list decides where it is
  /// known; otherwise every command that is not the relay's own counts.
  private static func isAgentCommand(_ text: String, among known: Set<String>?) -> Bool {
    guard text.hasPrefix("/") else { return false }
    let name = String(text.dropFirst().prefix { !$0.isWhitespace })
    // A path is not a command.
    guard !name.isEmpty, !name.contains("/") else { return false }
    return known?.contains(name) ?? (CommandRegistry.command(name) == nil)
  }
}
