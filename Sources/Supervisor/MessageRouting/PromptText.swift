internal import ChatCommands
internal import RelayText
internal import RelayWire

/// The text that the agent is given for a person's message.
enum PromptText {
  /// The longest quotation, in characters.
  static let quoteLimit = 200

  /// In a direct message the text goes in exactly as typed. In a channel or thread, where several people write, it is
  /// preceded by who wrote it. A quotation is labelled as another's words, and is never looked at for commands. A command
  /// of the agent's own works only at the very beginning: nothing is put before it.
  ///
  /// - Parameter agentCommands: the names of the agent's own commands; `nil` while it has not told them.
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

  /// True for a text that may be a command of the agent's own, a skill or a template: what its commands are decides where it has
  /// told them, and otherwise that it is none of ours.
  private static func isAgentCommand(_ text: String, among known: Set<String>?) -> Bool {
    guard text.hasPrefix("/") else { return false }
    let name = String(text.dropFirst().prefix { !$0.isWhitespace })
    // A path is not a command.
    guard !name.isEmpty, !name.contains("/") else { return false }
    return known?.contains(name) ?? (CommandRegistry.command(name) == nil)
  }
}
