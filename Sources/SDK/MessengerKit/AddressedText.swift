// For services where a text itself says whom it is for.

extension String {
  /// The text without the name of the one whom it is for, as in `name: text` or `name, text`.
  ///
  /// - Returns: the rest, and whether the text begins so; case counts nothing.
  public func addressed(to name: String) -> (text: String, isAddressed: Bool) {
    guard [":", ","].contains(where: { lowercased().hasPrefix(name.lowercased() + $0) }) else { return (self, false) }
    return (String(dropFirst(name.count + 1).drop { $0 == " " }), true)
  }

  /// The text with `/` for the `!` before a command: people's programs may keep to themselves what begins with a slash.
  public var withCommandSlash: String {
    hasPrefix("!") && dropFirst().first?.isLetter == true ? "/" + dropFirst() : self
  }
}
