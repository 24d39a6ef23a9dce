internal import PluginRuntime
package import RelayWire

/// A command that people type in any messenger.
struct Command: Sendable {
  let name: String
  var aliases: [String] = []
  var arguments: String?
  let summary: String
  var weight = Weight.recorded
  /// Its arguments can be completed while they are typed.
  var completes = false
  /// Buttons for a messenger that has them.
  var buttons: (@Sendable (Router, CommandCall) async -> [[Button]]?)?
  let run: @Sendable (Router, CommandCall) async -> String?
}

extension Command {
  /// What must be on the disk before a command is carried out, so that the next daemon does not do it again.
  enum Weight: Sendable {
    /// Nothing: it only looks.
    case light
    /// That it has begun, if that can be stored; it is too urgent to wait.
    case urgent
    /// That it has begun.
    case recorded
    /// The same; it goes on after it has been called, and ends its message itself.
    case lasting
    /// Nothing of its own: it makes a prompt, which ends by itself.
    case prompt
  }
}

/// Who called a command, where, and with what.
struct CommandCall: Sendable {
  let name: String
  let arguments: String
  let message: MessageReceived
  let link: PluginLink
}

/// The one list of commands: help text, menus and completion all come from it.
package enum CommandRegistry {
  static let all: [Command] = [
    Command(
      name: "help", arguments: "[command]", summary: "what you can do here", weight: .light, completes: true,
      run: Router.help),
    Command(
      name: "sessions", arguments: "[page]", summary: "list the sessions", weight: .light,
      buttons: Router.sessionButtons, run: Router.listSessions),
    Command(
      name: "use", arguments: "<number|name>", summary: "talk to another session", completes: true,
      buttons: Router.sessionButtons, run: Router.use),
    Command(name: "disconnect", summary: "talk to no session any more", run: Router.disconnect),
    Command(
      name: "new", arguments: "[name] [--in folder] [--model model]", summary: "begin a session and talk to it",
      run: Router.new),
    Command(
      name: "spawn", arguments: "[name] [--in folder] [--model model] [-- task]",
      summary: "open a thread with a session of its own", run: Router.spawn),
    Command(name: "status", summary: "how this session is doing", weight: .light, run: Router.status),
    Command(name: "stop", aliases: ["abort"], summary: "interrupt the agent", weight: .urgent, run: Router.stop),
    Command(
      name: "steer", arguments: "<text>", summary: "tell the working agent something now", weight: .prompt,
      run: Router.steer),
    Command(
      name: "followup", arguments: "<text>", summary: "tell the agent something when it is done", weight: .prompt,
      run: Router.followUp),
    Command(
      name: "compact", arguments: "[what to keep]", summary: "shorten the context", weight: .lasting,
      run: Router.compact),
    Command(
      name: "model", arguments: "[name]", summary: "show or change the model", completes: true, run: Router.model),
    Command(name: "name", arguments: "<name>", summary: "rename this session", run: Router.rename),
    Command(name: "close", summary: "end this session", run: Router.closeSession),
  ]

  static func command(_ name: String) -> Command? {
    let wish = name.lowercased()
    return all.first { $0.name == wish || $0.aliases.contains(wish) }
  }

  /// For a platform's menu.
  package static var menu: [CommandsChanged.Command] {
    all.flatMap { command in
      ([command.name] + command.aliases).map { name in
        CommandsChanged.Command(
          name: name, summary: command.summary, arguments: command.arguments,
          completes: command.completes ? true : nil)
      }
    }
  }

  /// Splits `/name rest`; nil when the text is no command line.
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
