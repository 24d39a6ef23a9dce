package import MessengerKit

/// A kind of request, and the place it concerns: Discord counts requests by both.
/// https://discord.com/developers/docs/topics/rate-limits
package struct Route: Hashable, Sendable {
  package let method: String
  /// The path with its parameters' names: `/channels/{channel}/messages`.
  package let template: String
  package let path: String
  /// The channel, guild or webhook: each has limits of its own.
  package let major: String

  /// The path itself says what allows it: an interaction's token.
  package var hasOwnToken: Bool { template.hasPrefix("/webhooks") || template.hasPrefix("/interactions") }

  package var lane: RateLimits.Lane { .init("\(method) \(template)", place: major) }

  private init(_ method: String, _ template: String, _ path: String, major: String = "") {
    self.method = method
    self.template = template
    self.path = path
    self.major = major
  }

  package static let gateway = Route("GET", "/gateway/bot", "/gateway/bot")
  package static let me = Route("GET", "/users/@me", "/users/@me")

  package static func createMessage(in channel: String) -> Route {
    Route("POST", "/channels/{channel}/messages", "/channels/\(channel)/messages", major: channel)
  }

  /// At most 100 messages, those written after another.
  package static func messages(in channel: String, after: String) -> Route {
    Route(
      "GET", "/channels/{channel}/messages", "/channels/\(channel)/messages?limit=100&after=\(after)", major: channel)
  }

  package static func member(_ user: String, of guild: String) -> Route {
    Route("GET", "/guilds/{guild}/members/{user}", "/guilds/\(guild)/members/\(user)", major: guild)
  }

  package static func guild(_ guild: String) -> Route {
    Route("GET", "/guilds/{guild}", "/guilds/\(guild)", major: guild)
  }

  package static func createThread(in channel: String) -> Route {
    Route("POST", "/channels/{channel}/threads", "/channels/\(channel)/threads", major: channel)
  }

  package static func editMessage(_ message: String, in channel: String) -> Route {
    Route("PATCH", "/channels/{channel}/messages/{message}", "/channels/\(channel)/messages/\(message)", major: channel)
  }

  package static func deleteMessage(_ message: String, in channel: String) -> Route {
    Route(
      "DELETE", "/channels/{channel}/messages/{message}", "/channels/\(channel)/messages/\(message)", major: channel)
  }

  package static let application = Route("GET", "/applications/@me", "/applications/@me")
  package static let openDM = Route("POST", "/users/@me/channels", "/users/@me/channels")

  /// At most 200 of the bot's guilds, those with ids after `after`.
  package static func guilds(after: String) -> Route {
    Route("GET", "/users/@me/guilds", "/users/@me/guilds?limit=200&after=\(after)")
  }

  package static func channel(_ channel: String) -> Route {
    Route("GET", "/channels/{channel}", "/channels/\(channel)", major: channel)
  }

  /// - Parameter guild: nil for the commands that are the same everywhere.
  package static func commands(_ method: String, of application: String, in guild: String?) -> Route {
    guard let guild else {
      return Route(method, "/applications/{application}/commands", "/applications/\(application)/commands")
    }
    return Route(
      method, "/applications/{application}/guilds/{guild}/commands",
      "/applications/\(application)/guilds/\(guild)/commands", major: guild)
  }

  package static func answer(interaction: String, token: String) -> Route {
    Route(
      "POST", "/interactions/{interaction}/{token}/callback", "/interactions/\(interaction)/\(token)/callback",
      major: interaction)
  }

  package static func followUp(_ application: String, _ token: String) -> Route {
    Route("POST", "/webhooks/{application}/{token}", "/webhooks/\(application)/\(token)", major: token)
  }

  package static func editReply(_ message: String, _ application: String, _ token: String) -> Route {
    Route(
      "PATCH", "/webhooks/{application}/{token}/messages/{message}",
      "/webhooks/\(application)/\(token)/messages/\(message)", major: token)
  }

  package static func react(_ reaction: String, to message: String, in channel: String) -> Route {
    Route(
      "PUT", "/channels/{channel}/messages/{message}/reactions/{reaction}/@me",
      "/channels/\(channel)/messages/\(message)/reactions/\(reaction.percentEncoded)/@me", major: channel)
  }

  package static func typing(in channel: String) -> Route {
    Route("POST", "/channels/{channel}/typing", "/channels/\(channel)/typing", major: channel)
  }
}
