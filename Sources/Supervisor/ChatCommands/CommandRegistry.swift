package import RelayWire

/// The one list of commands: help, menus and completion come from it.
package enum CommandRegistry {
  package static let all: [any ChatCommand] = [
    HelpCommand(), SessionsCommand(), UseCommand(), DisconnectCommand(), NewCommand(), SpawnCommand(), StatusCommand(),
    StopCommand(), SteerCommand(), FollowUpCommand(), CompactCommand(), ModelCommand(), NameCommand(), CloseCommand(),
    PairCommand(),
  ]

  /// - Parameter name: a name or an alias, in any case.
  package static func command(_ name: String) -> (any ChatCommand)? {
    let name = name.lowercased()
    return all.first { $0.name == name || $0.aliases.contains(name) }
  }

  /// For a platform's menu.
  package static var menu: [CommandsChanged.Command] {
    all.flatMap { command in
      ([command.name] + command.aliases).map { name in
        CommandsChanged.Command(
          name: name, summary: command.summary, arguments: command.arguments,
          completes: command.completesArguments ? true : nil)
      }
    }
  }

  /// Splits `/name rest`; `nil` when the text is no command line.
  static func parse(_ text: String) -> (name: String, arguments: String)? {
    let text = text.trimmingWhitespace()
    guard text.hasPrefix("/"), text.count > 1 else { return nil }
    let body = text.dropFirst()
    let name = body.prefix { !$0.isWhitespace }
    // A path is not a command.
    guard !name.isEmpty, !name.contains("/") else { return nil }
    // Telegram's "/status@bot" addresses one of several bots.
    let plain = name.split(separator: "@").first.map(String.init) ?? String(name)
    return (plain, String(body.dropFirst(name.count)).trimmingWhitespace())
  }
}
