internal import DiscordAPI
internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency

/// The developer portal's and the servers' facts about the bot: for the set-up and for `doctor`.
struct DiscordPortal: Sendable {
  /// With the message content, or as an unverified bot has it.
  private static let contentFlags = 1 << 18 | 1 << 19
  /// View Channels, Send Messages, Send Messages in Threads, Create Public Threads, Read Message History, Attach Files,
  /// Add Reactions.
  private static let permissions: [(bit: Int, name: String)] = [
    (10, "View Channels"), (11, "Send Messages"), (38, "Send Messages in Threads"), (35, "Create Public Threads"),
    (16, "Read Message History"), (15, "Attach Files"), (6, "Add Reactions"),
  ]
  private static let administrator = 3

  let rest: RESTClient

  init(token: String, api: String?, proxy: String?) {
    rest = RESTClient(.init(base: api ?? DiscordMessenger.defaultAPI, token: token, proxy: proxy))
  }

  struct Bot: Sendable {
    var name: String
    var application: String
    var readsMessages: Bool
  }

  func bot() async throws(RESTError) -> Bot {
    let me = try await rest.ask(.me)
    let application = try await rest.ask(.application)
    return Bot(
      name: me["username"]?.stringValue ?? "?", application: application["id"]?.stringValue ?? "",
      readsMessages: (application["flags"]?.intValue ?? 0) & Self.contentFlags != 0)
  }

  /// The address at which the bot is invited, with exactly the permissions that it needs.
  static func invitation(of application: String) -> String {
    let bits = permissions.reduce(0) { $0 | 1 << $1.bit }
    return
      "https://discord.com/oauth2/authorize?client_id=\(application)&scope=bot+applications.commands&permissions=\(bits)"
  }

  /// Names of the servers that the bot is in.
  func guilds() async throws(RESTError) -> [String] {
    guard case .array(let guilds) = try await rest.ask(.guilds(after: "0")) else { return [] }
    return guilds.map { $0["name"]?.stringValue ?? "?" }
  }

  // MARK: - Permissions

  /// The permissions that the bot lacks in a channel, by name.
  func missing(in channel: String) async throws(RESTError) -> (channel: String, missing: [String]) {
    let place = try await rest.ask(.channel(channel))
    let name = place["name"]?.stringValue ?? channel
    guard let guildID = place["guild_id"]?.stringValue else { return (name, []) }
    let me = try await rest.ask(.me)["id"]?.stringValue ?? ""
    let guild = try await rest.ask(.guild(guildID))
    let member = try await rest.ask(.member(me, of: guildID))
    let granted = Self.permissions(in: place, guild: guild, roles: DiscordMessages.roles(member) ?? [], me: me)
    if granted & 1 << Self.administrator != 0 { return (name, []) }
    return (name, Self.permissions.filter { granted & 1 << $0.bit == 0 }.map(\.name))
  }

  /// https://discord.com/developers/docs/topics/permissions#permission-overwrites
  static func permissions(in channel: JSONValue, guild: JSONValue, roles: [String], me: String) -> Int {
    let everyone = guild["id"]?.stringValue ?? ""
    var granted = 0
    for role in list(guild["roles"]) where role["id"]?.stringValue == everyone || roles.contains(id(role)) {
      granted |= bits(role["permissions"])
    }
    let overwrites = list(channel["permission_overwrites"])
    for mine in [{ $0 == everyone }, { roles.contains($0) }, { $0 == me }] as [(String) -> Bool] {
      let matching = overwrites.filter { mine(id($0)) }
      granted &= ~matching.reduce(0) { $0 | bits($1["deny"]) }
      granted |= matching.reduce(0) { $0 | bits($1["allow"]) }
    }
    return granted
  }

  private static func list(_ value: JSONValue?) -> [JSONValue] {
    if case .array(let list)? = value { list } else { [] }
  }
  private static func id(_ value: JSONValue) -> String { value["id"]?.stringValue ?? "" }
  private static func bits(_ value: JSONValue?) -> Int { value?.stringValue.flatMap { Int($0) } ?? 0 }
}
