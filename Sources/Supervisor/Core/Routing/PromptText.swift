internal import RelayWire

/// What the agent is given for a person's message.
enum PromptText {
  /// The longest quotation, in characters.
  static let quoteLimit = 200

  /// In a direct message the text goes in exactly as typed. In a channel or thread, where several people write, it is
  /// preceded by who wrote it. A quotation is labelled as another's words, and is never looked at for commands.
  static func compose(_ message: MessageReceived) -> String {
    var parts: [String] = []
    if let quote = message.replyTo, let text = quote.text, !text.isEmpty {
      let author = SafeText.name(quote.sender ?? "")
      parts.append(
        "[In reply to these words of \(author): \"\(SafeText.quotation(text, limit: quoteLimit))\"]")
    }
    if message.forwarded == true { parts.append("[Forwarded words of someone else:]") }
    if message.conversation.kind == .dm {
      parts.append(message.text)
    } else {
      parts.append("[\(SafeText.name(message.sender.name))]: \(message.text)")
    }
    return parts.joined(separator: "\n")
  }
}
