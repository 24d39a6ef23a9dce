internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK

/// The plugin's part of relay.yaml; docs/telegram.md says what each setting means.
struct TelegramSettings: Decodable, Sendable {
  static let publicServer = "https://api.telegram.org"

  var token: String?
  /// The address of a Bot API server; the public one unless set.
  var baseURL: String?
  var proxy: String?
  /// The groups in which every message is for the bot; in others those that address it.
  var channels: [String]?
  /// Reactions with which the bot marks messages.
  var reactions: MessageMarks?
  /// Seconds for which the bot may not hear before the person is told; a minute unless set. For tests.
  var graceSeconds: Int?

  /// Without a slash at its end.
  var server: String {
    var server = baseURL ?? Self.publicServer
    while server.hasSuffix("/") { server.removeLast() }
    return server
  }

  /// The token's first part.
  var bot: Int { Int(token?.prefix { $0 != ":" } ?? "") ?? 0 }

  var isPublicServer: Bool { server == Self.publicServer }

  /// - Throws: `ConfigurationProblems`.
  init(checked config: JSONValue) throws {
    self = try config.settings(as: Self.self)
    var problems = ConfigurationProblems()
    let token = token ?? ""
    problems.require(
      !token.isEmpty, "token",
      "is missing; put the token that @BotFather gave you into a file and name it with tokenFile, or into a variable and "
        + "name that with tokenEnv")
    problems.require(
      token.isEmpty || Self.isToken(token), "token", "is none of a bot, which looks like 123456789:ABC-DEF_ghi")
    problems.require(
      server.hasPrefix("https://") || JSONInterface.isLocal(server), "baseURL",
      "must begin with https://, because the token is part of every address; http:// only leads to this machine")
    problems.require(
      each: channels, "channels",
      "is no id of a group, which is a negative number; the log names it when the bot is added",
      Self.isGroup)
    try problems.throwIfAny()
  }

  static func isGroup(_ text: String) -> Bool { Int(text).map { $0 < 0 } ?? false }

  /// The token becomes part of addresses: nothing in it may mean anything there.
  static func isToken(_ text: String) -> Bool { text.wholeMatch(of: /[0-9]{1,20}:[A-Za-z0-9_\-]{1,100}/) != nil }
}
