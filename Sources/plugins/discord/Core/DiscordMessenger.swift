internal import DiscordAPI
internal import MessengerKit
package import PluginSDK
internal import RelayConcurrency

/// The bot: passes Discord's events to the host, and carries out the host's requests at Discord.
package actor DiscordMessenger: Plugin {
  package static let name = "discord"
  package static let version = "0.1.0"
  static let defaultAPI = "https://discord.com/api/v10"

  let host: Host
  let settings: DiscordSettings
  let rest: RESTClient
  let channels: Channels
  let interactions: Interactions
  let menu: CommandMenu
  let uploads: UploadLimits
  let typing: TypingIndicator
  let streaming: GrowingEdits<JSONValue, RESTError>
  let token: SharedToken
  let taskScope = TaskScope()
  private let problems: ProblemReports
  private let gateway = SetOnce<GatewayClient>()
  private var presence: String?
  var progress: DiscordProgress

  /// - Throws: `ConfigurationProblems`.
  package init(_ host: Host) throws {
    let settings = try DiscordSettings(checked: host.about.config)
    self.host = host
    self.settings = settings
    problems = ProblemReports(host, beginningWith: "the bot is not connected to Discord yet")
    let rest = RESTClient(
      .init(base: settings.api ?? Self.defaultAPI, token: settings.token ?? "", proxy: settings.proxy))
    self.rest = rest
    let state = DiscordState(host.about.state)
    progress = DiscordProgress(state)
    token = SharedToken(folder: host.about.dataDir)
    channels = Channels(settings, heard: state.seen.all.map(\.conversation), rest)
    // Discord shows it for ten seconds.
    typing = TypingIndicator(renewal: .seconds(8), show: { _ = try? await rest.ask(.typing(in: $0)) })
    streaming = GrowingEdits(
      rest.growth,
      log: { host.log("a growing message could not be changed: \($0.words)") })
    interactions = Interactions(host, rest, channels, taskScope)
    menu = CommandMenu(
      asking: { [rest] route, body throws(RESTError) in try await rest.ask(route, body) }, channels,
      log: { host.log($0) })
    uploads = UploadLimits(rest)
  }

  package nonisolated var capabilities: Capabilities {
    var capabilities = Capabilities.messenger(maximumTextLength: 2_000, dialect: "discord", edit: true)
    capabilities.minimumEditInterval = 800
    capabilities.typing = true
    capabilities.buttons = Components.limits
    capabilities.commandsMenu = true
    capabilities.outcomes = true
    capabilities.threads = true
    capabilities.directMessages = channels.servesElsewhere
    capabilities.presence = true
    capabilities.maximumFileBytes = UploadLimits.maximum
    capabilities.attachmentHosts = ["cdn.discordapp.com", "media.discordapp.net"]
    return capabilities
  }

  /// Stays connected until cancelled.
  package func run() async throws {
    let gateway = GatewayClient(
      // A plugin that does not know the bot's own id begins a new session, which tells it: without the id it could not
      // tell when the bot is mentioned.
      rest, resuming: settings.mentions == true && progress.state.me == nil ? nil : progress.state.gateway,
      arrived: { [interactions] event in
        switch event.name {
        case "INTERACTION_CREATE": interactions.arrived(event.data)
        case "READY", "RESUMED": interactions.connected()
        default: break
        }
      }, handle: { try await self.handle($0) }, log: { [host] in host.log($0) },
      problems: problems)
    self.gateway.set(gateway)
    if let proxy = rest.settings.proxy { host.log("Discord is reached through the proxy \(proxy)") }
    await gateway.show(presence: presence)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await gateway.run() }
      group.addTask { [taskScope] in await taskScope.run() }
      defer {
        taskScope.close()
        group.cancelAll()
      }
      try await group.next()
    }
  }

  package static func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    try await DiscordSetup(dialogue, known: known).run()
  }

  package static func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    try await DiscordCheck.findings(request)
  }

  package func setPresence(_ request: PresenceSet) async {
    presence = request.text
    await gateway.value?.show(presence: request.text)
  }

  package func shutdown() async {
    await typing.end()
    // Kept so that the next process receives as few events again as possible.
    if progress.session != nil {
      do { try await keep() } catch { host.log("the place in the stream could not be kept: \(error)") }
    }
  }
}
