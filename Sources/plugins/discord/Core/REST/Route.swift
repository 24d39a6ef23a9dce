/// One kind of request, and the place it concerns: Discord counts requests by both.
///
/// https://discord.com/developers/docs/topics/rate-limits
struct Route: Hashable, Sendable {
  let method: String
  /// The path with its parameters' names: `/channels/{channel}/messages`.
  let template: String
  let path: String
  /// The channel, guild or webhook: each has limits of its own.
  let major: String

  private init(_ method: String, _ template: String, _ path: String, major: String = "") {
    self.method = method
    self.template = template
    self.path = path
    self.major = major
  }

  static let gateway = Route("GET", "/gateway/bot", "/gateway/bot")
  static let me = Route("GET", "/users/@me", "/users/@me")

  static func createMessage(in channel: String) -> Route {
    Route("POST", "/channels/{channel}/messages", "/channels/\(channel)/messages", major: channel)
  }

  static func editMessage(_ message: String, in channel: String) -> Route {
    Route("PATCH", "/channels/{channel}/messages/{message}", "/channels/\(channel)/messages/\(message)", major: channel)
  }

  static func deleteMessage(_ message: String, in channel: String) -> Route {
    Route(
      "DELETE", "/channels/{channel}/messages/{message}", "/channels/\(channel)/messages/\(message)", major: channel)
  }

  static func typing(in channel: String) -> Route {
    Route("POST", "/channels/{channel}/typing", "/channels/\(channel)/typing", major: channel)
  }
}
