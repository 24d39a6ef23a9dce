package import RelayWire

/// The text of a message, read as a command or as words for the agent.
package enum CommandLineText {
  case command(any ChatCommand, arguments: String)
  case words

  /// Forwarded words are another's: neither a command nor an answer.
  package init(_ message: MessageReceived) {
    guard message.forwarded != true, let (name, arguments) = CommandRegistry.parse(message.text),
      let command = CommandRegistry.command(name)
    else {
      self = .words
      return
    }
    self = .command(command, arguments: arguments)
  }

  package var isWords: Bool { if case .words = self { true } else { false } }

  /// The part of a message that is for the agent; `nil` for a command that brings no prompt.
  package static func prompt(of message: MessageReceived) -> MessageReceived? {
    guard case .command(let command, let arguments) = CommandLineText(message) else { return message }
    guard case .byPrompt = command.durability else { return nil }
    var words = message
    words.text = arguments
    return words
  }
}

extension String {
  func unquoted() -> String {
    guard count >= 2, first == last, first == "\"" || first == "'" else { return self }
    return String(dropFirst().dropLast())
  }

  package func trimmingPrefixSlash() -> String { hasPrefix("/") ? String(dropFirst()) : self }
}
