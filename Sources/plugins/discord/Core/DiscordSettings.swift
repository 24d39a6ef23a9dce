internal import MessengerKit
internal import PluginSDK

/// The plugin's part of relay.yaml.
struct DiscordSettings: Decodable, Sendable {
  var token: String?
  /// Of servers, that are listened to, with the threads in them.
  var channels: [String]?
  /// Heard wherever the bot is mentioned or replied to, too: at most one of the machines that share a token.
  var mentions: Bool?
  /// Direct messages, and commands used elsewhere, are this machine's: of several that share a token, one's.
  var dms: Bool?
  var proxy: String?
  /// Reactions with which the bot marks messages.
  var reactions: MessageMarks?
  /// Another address of Discord's interface, for tests.
  var api: String?

  /// Where channels are named, several machines may share the token, and direct messages must be asked for.
  var servesElsewhere: Bool { dms ?? (channels ?? []).isEmpty }

  /// - Throws: `ConfigurationProblems`.
  init(checked config: JSONValue) throws {
    self = try config.settings(as: Self.self)
    var problems = ConfigurationProblems()
    let token = token ?? ""
    problems.require(
      !token.isEmpty, "token",
      "is missing; put the bot's token into a file and name it with tokenFile, or into a variable and name "
        + "that with tokenEnv")
    problems.require(
      token.allSatisfy { $0.isASCII && !$0.isWhitespace }, "token", "holds blanks or other characters that no token has"
    )
    problems.require(
      each: channels, "channels", "is no id of a channel, which has 17 to 20 digits, in quotes", Self.isID)
    let isHeard = channels?.isEmpty == false || dms != false || mentions == true
    problems.require(isHeard, "dms", "is off and no channels are named, so no message would be heard")
    try problems.throwIfAny()
  }

  static func isID(_ text: String) -> Bool {
    (17...20).contains(text.count) && text.allSatisfy { $0.isASCII && $0.isNumber }
  }
}
