internal import MessengerKit
internal import PluginSDK

/// The plugin's part of relay.yaml.
struct SlackSettings: Decodable, Sendable {
  /// The bot's token, `xoxb-…`, for everything but the connection.
  var token: String?
  /// The app-level token, `xapp-…`, for the connection alone.
  var appToken: String?
  /// Channels in which every message is for the bot, with the threads in them.
  var channels: [String]?
  /// Heard wherever an admitted person mentions the bot, and in the threads that begin so.
  var mentions: Bool?
  var proxy: String?
  /// Reactions with which the bot marks messages.
  var reactions: MessageMarks?
  /// Another address of Slack's interface, for tests.
  var api: String?
  /// The time without any sign of Slack after which a connection counts as lost; shorter in tests.
  var silenceSeconds: Double?

  var hearsMentions: Bool { mentions ?? true }

  /// - Throws: `ConfigurationProblems`.
  init(checked config: JSONValue) throws {
    self = try config.settings(as: Self.self)
    var problems = ConfigurationProblems()
    for (path, value, beginning, place) in [
      ("token", token, "xoxb-", "the bot's token (OAuth & Permissions)"),
      ("appToken", appToken, "xapp-", "the app-level token (Basic Information)"),
    ] {
      problems.require(
        value?.isEmpty == false, path,
        "is missing; put \(place) into a file and name it with \(path)File, or into a variable and name that with "
          + "\(path)Env")
      guard let value, !value.isEmpty else { continue }
      problems.require(Self.isToken(value, beginning), path, "is not \(place): it begins with \(beginning)")
    }
    problems.require(
      each: channels, "channels", "is no id of a channel, which begins with C or G (channel details, at the bottom)",
      Self.isChannel)
    problems.require(
      api.map(Self.isSafe) ?? true, "api", "must begin with https://; http:// only where it leads to 127.0.0.1")
    try problems.throwIfAny()
  }

  static func isToken(_ text: String, _ beginning: String) -> Bool {
    text.hasPrefix(beginning) && text.allSatisfy { $0.isASCII && !$0.isWhitespace }
  }

  static func isChannel(_ text: String) -> Bool {
    text.count >= 2 && "CG".contains(text.first ?? " ")
      && text.allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
  }

  static func isSafe(_ url: String) -> Bool { url.hasPrefix("https://") || url.hasPrefix("http://127.0.0.1:") }
}
