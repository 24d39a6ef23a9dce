internal import DiscordAPI
internal import MessengerKit
internal import RelayConcurrency
internal import RelayJSON
internal import RelayWire

/// Registers the commands where what is registered differs: in every server and for direct messages, or, on a machine
/// without direct messages, in the servers of its channels. Machines that share a token register the same there.
actor CommandMenu {
  private static let tries = Tries(5, first: .seconds(5), multiplier: 3)

  typealias Ask = @Sendable (Route, JSONValue?) async throws(RESTError) -> JSONValue

  private let ask: Ask
  private let channels: Channels
  private let log: @Sendable (String) -> Void
  private var menu: JSONValue?
  /// The number of menus so far: a registration of an earlier one counts for nothing.
  private var version = 0
  private var application: String?
  private var done: Set<String> = []
  private var underWay: Set<String> = []

  /// - Parameter ask: asks Discord's interface.
  init(asking ask: @escaping Ask, _ channels: Channels, log: @escaping @Sendable (String) -> Void) {
    self.ask = ask
    self.channels = channels
    self.log = log
  }

  /// The commands are these from now on.
  func set(_ commands: [CommandsChanged.Command]) async {
    menu = .array(commands.map(Self.command))
    version += 1
    done = []
    // Cancelled: the plugin is ending.
    _ = try? await Self.tries.run { await registerEverywhere() ? () : nil }
  }

  /// - Returns: false where another try may help.
  private func registerEverywhere() async -> Bool {
    var isDone = true
    if channels.servesElsewhere {
      do { try await register(in: nil) } catch {
        tell(error, "the commands could not be registered for direct messages")
        isDone = false
      }
    }
    do {
      for guild in try await guilds() where !done.contains(guild) {
        await joined(guild)
        if !done.contains(guild) { isDone = false }
      }
    } catch {
      tell(error, "the servers could not be listed")
      isDone = false
    }
    return isDone
  }

  /// The bot is in this guild.
  func joined(_ guild: String) async {
    guard menu != nil, !done.contains(guild), underWay.insert(guild).inserted else { return }
    defer { underWay.remove(guild) }
    do {
      // The menu may change meanwhile.
      while !done.contains(guild) { try await register(in: guild) }
    } catch {
      tell(error, "the commands could not be registered in server \(guild)")
    }
  }

  private func tell(_ error: RESTError, _ what: String) {
    log("\(what): \(error.words)")
  }

  private func guilds() async throws(RESTError) -> [String] {
    guard channels.servesElsewhere else { return try await channels.servers().sorted() }
    var all: [String] = []
    while true {
      guard case .array(let page) = try await ask(.guilds(after: all.last ?? "0"), nil) else { return all }
      all += page.compactMap { $0["id"]?.stringValue }
      if page.count < 200 { return all }
    }
  }

  private func register(in guild: String?) async throws(RESTError) {
    guard var menu else { return }
    let version = version
    let application = try await applicationID()
    if guild == nil, case .array(let commands) = menu {
      // In guilds they are registered by themselves, at once; these are for direct messages with the bot.
      menu = .array(commands.map { $0.setting("contexts", [1]) })
    }
    let present = try await ask(.commands("GET", of: application, in: guild), nil)
    if Self.essence(present) != Self.essence(menu) {
      _ = try await ask(.commands("PUT", of: application, in: guild), menu)
    }
    if let guild, version == self.version { done.insert(guild) }
  }

  private func applicationID() async throws(RESTError) -> String {
    if let application { return application }
    guard let id = try await ask(.application, nil)["id"]?.stringValue else {
      throw .unanswered("it did not name the application of this bot")
    }
    application = id
    return id
  }

  /// https://discord.com/developers/docs/interactions/application-commands
  private static func command(_ command: CommandsChanged.Command) -> JSONValue {
    var options: [JSONValue] = []
    if let arguments = command.arguments {
      options.append([
        "type": 3, "name": "text", "description": .string(arguments.cut(100)),
        "required": .bool(arguments.hasPrefix("<") && command.completes != true),
        "autocomplete": .bool(command.completes == true),
      ])
    }
    return [
      "type": 1, "name": .string(command.name), "description": .string(command.summary.cut(100)),
      "options": .array(options),
    ]
  }

  /// The parts of a list of commands that the relay states; Discord adds others.
  private static func essence(_ commands: JSONValue) -> Set<String> {
    guard case .array(let commands) = commands else { return [] }
    return Set(
      commands.map { command in
        var parts = [command["name"]?.stringValue ?? "", command["description"]?.stringValue ?? ""]
        if case .array(let options)? = command["options"] {
          for option in options {
            parts += [
              option["name"]?.stringValue ?? "", option["description"]?.stringValue ?? "",
              option["required"] == true ? "required" : "", option["autocomplete"] == true ? "autocomplete" : "",
            ]
          }
        }
        if case .array(let contexts)? = command["contexts"] { parts.append("\(contexts.compactMap(\.intValue))") }
        return parts.joined(separator: "\u{0}")
      })
  }
}
