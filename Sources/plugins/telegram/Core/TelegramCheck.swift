internal import MessengerKit
internal import PluginSDK

/// Looks whether a configuration works at Telegram.
enum TelegramCheck {
  static func findings(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    let api = BotAPI(try TelegramSettings(checked: request.config))
    let route = api.proxy.map { [CheckRequest.Finding(true, "Telegram is reached through the proxy \($0)")] } ?? []
    do throws(RESTError) {
      let user = try await api.ask("getMe", credential: .probed)
      let url = try await api.ask("getWebhookInfo")["url"]?.stringValue ?? ""
      let name = user["username"]?.stringValue ?? "?"
      return route + [
        .init(true, "the token is that of @\(name)"), privacy(user),
        url.isEmpty
          ? .init(true, "no webhook is set")
          : .init(false, "a webhook is set, so the bot hears nothing here; remove it with deleteWebhook"),
      ]
    } catch {
      return route + [.init(false, error.words)]
    }
  }

  /// The messages that the bot hears in groups.
  static func privacy(_ user: JSONValue) -> CheckRequest.Finding {
    if user["can_join_groups"] == false {
      return .init(true, "the bot cannot be added to groups; @BotFather changes that with /setjoingroups")
    }
    return user["can_read_all_group_messages"] == true
      ? .init(true, "privacy mode is off: in groups the bot hears every message")
      : .init(
        true,
        "privacy mode is on: in groups the bot hears commands, mentions of it and replies to it; @BotFather changes that "
          + "with /setprivacy, and the bot has to be added to its groups anew")
  }
}
