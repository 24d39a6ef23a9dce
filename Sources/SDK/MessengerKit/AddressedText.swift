// For services where the name before a text says who is meant.

extension String {
  /// The text without a name that it begins with, as in `name: text` or `name, text`.
  ///
  /// - Parameter name: the bot's name; case does not count.
  /// - Returns: the rest of the text, and whether it began with the name.
  public func addressed(to name: String) -> (text: String, isAddressed: Bool) {
    guard [":", ","].contains(where: { lowercased().hasPrefix(name.lowercased() + $0) }) else { return (self, false) }
    return (String(dropFirst(name.count + 1).drop { $0 == " " }), true)
  }

  /// The text with `/` in place of `!` before a command. For services whose clients do not send a text that begins with a slash.
  public var withCommandSlash: String {
    hasPrefix("!") && dropFirst().first?.isLetter == true ? "/" + dropFirst() : self
  }
}
