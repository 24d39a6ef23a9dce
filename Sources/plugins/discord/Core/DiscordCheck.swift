internal import DiscordAPI
internal import FoundationEssentials
internal import MessengerKit
internal import PluginSDK
internal import RelayWire

/// Looks whether a configuration works at Discord.
enum DiscordCheck {
  /// The time in seconds for which another program that has answered is reported.
  private static let memory = 86_400.0

  static func findings(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    let settings = try DiscordSettings(checked: request.config)
    let portal = DiscordPortal(token: settings.token ?? "", api: settings.api, proxy: settings.proxy)
    let proxy = portal.rest.settings.proxy
    let route = proxy.map { [CheckRequest.Finding(true, "Discord is reached through the proxy \($0)")] } ?? []
    do {
      return try await route + findings(settings, portal) + others(DiscordState(request.state))
    } catch {
      return route + [.init(false, "Discord: \(error.words)")]
    }
  }

  private static func findings(
    _ settings: DiscordSettings, _ portal: DiscordPortal
  ) async throws(RESTError) -> [CheckRequest.Finding] {
    let bot = try await portal.bot()
    var findings = [CheckRequest.Finding(true, "the token is that of \(bot.name)")]
    findings.append(
      bot.readsMessages
        ? .init(true, "Message Content Intent is on")
        : .init(false, "Message Content Intent is off: switch it on in the developer portal, under Bot"))
    let guilds = try await portal.guilds()
    findings.append(
      guilds.isEmpty
        ? .init(false, "the bot is in no server: open \(DiscordPortal.invitation(of: bot.application))")
        : .init(true, "the bot is in \(guilds.joined(separator: ", "))"))
    for channel in settings.channels ?? [] { findings.append(await finding(channel, portal)) }
    return findings
  }

  /// Names another daemon that answers with this token where this one does.
  private static func others(_ state: DiscordState) -> [CheckRequest.Finding] {
    let now = Date().timeIntervalSince1970
    guard let other = state.other, now - other.time < memory else { return [] }
    return [
      .init(
        false,
        "two daemons on one token: another one answered in channel \(other.channel) \(Duration(seconds: now - other.time).forPeople) ago; "
          + "give each machine channels of its own and dms: true to one of them, or a bot of its own")
    ]
  }

  private static func finding(_ channel: String, _ portal: DiscordPortal) async -> CheckRequest.Finding {
    do throws(RESTError) {
      let (name, missing) = try await portal.missing(in: channel)
      guard !missing.isEmpty else { return .init(true, "#\(name): all permissions are there") }
      return .init(false, "#\(name): the bot lacks \(missing.joined(separator: ", ")); grant them in its settings")
    } catch {
      return .init(
        false,
        "channel \(channel): \(error.words); is the bot in its server, and may it see it?"
      )
    }
  }
}
