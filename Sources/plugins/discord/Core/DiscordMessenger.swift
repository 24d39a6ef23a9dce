internal import FoundationEssentials
package import PluginSDK
internal import RelayPipes

/// One bot: what happens at Discord goes to the host, and what the host says goes to Discord.
package actor DiscordMessenger {
  static let usualAPI = "https://discord.com/api/v10"
  /// Events of no interest to a person after which the place in the stream is kept all the same.
  private static let keepEvery = 50

  let host: Host
  let settings: DiscordSettings
  let rest: RESTClient
  let channels: Channels
  let interactions: Interactions
  let menu: CommandMenu
  let uploads: UploadLimits
  let typing: TypingIndicator
  let nursery = Nursery()
  private let gateway = Latch<GatewayClient>()
  private var presence: String?
  private var state: DiscordState
  private var keptSequence = 0
  /// The bot's own id.
  private var me: String?

  /// - Throws: `ConfigurationProblems`.
  package init(_ host: Host) throws {
    let settings = try host.config(as: DiscordSettings.self)
    let problems = settings.problems
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
    self.host = host
    self.settings = settings
    rest = RESTClient(
      .init(base: settings.api ?? Self.usualAPI, token: settings.token ?? "", proxy: settings.proxy))
    channels = Channels(Set(settings.channels ?? []), servesElsewhere: settings.servesElsewhere, rest)
    typing = TypingIndicator(rest)
    interactions = Interactions(host, rest, channels, nursery)
    menu = CommandMenu(rest, log: { host.log($0) })
    uploads = UploadLimits(rest)
    state = DiscordState(host.about.state)
  }

  package static var capabilities: Capabilities {
    var capabilities = Capabilities.messenger(maximumTextLength: 2_000, dialect: "discord", edit: true)
    capabilities.minimumEditInterval = 800
    capabilities.typing = true
    capabilities.buttons = Components.limits
    capabilities.commandsMenu = true
    capabilities.outcomes = true
    capabilities.threads = true
    capabilities.presence = true
    capabilities.maximumFileBytes = UploadLimits.most
    capabilities.attachmentHosts = ["cdn.discordapp.com", "media.discordapp.net"]
    return capabilities
  }

  /// Stays connected until cancelled.
  package func run() async throws {
    let gateway = GatewayClient(
      rest, resuming: state.gateway, handle: { try await self.handle($0) }, log: { [host] in host.log($0) })
    self.gateway.set(gateway)
    await gateway.show(presence: presence)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await gateway.run() }
      group.addTask { [nursery] in await nursery.run() }
      defer {
        nursery.close()
        group.cancelAll()
      }
      try await group.next()
    }
  }

  package func setPresence(_ request: PresenceSet) async {
    presence = request.text
    await gateway.value?.show(presence: request.text)
  }

  package func shutdown() async { await typing.end() }

  // MARK: - Events

  private func handle(_ event: GatewayEvent) async throws {
    state.gateway = event.session
    switch event.name {
    case "MESSAGE_CREATE": if try await received(event.data) { return }
    case "MESSAGE_UPDATE":
      if let place = try await place(of: event.data), let edit = DiscordMessages.edited(event.data, in: place) {
        try await host.edited(edit)
      }
    case "MESSAGE_DELETE":
      if let place = try await place(of: event.data), let gone = DiscordMessages.deleted(event.data, in: place) {
        try await host.deleted(gone)
      }
    case "INTERACTION_CREATE": try await interactions.take(event.data)
    case "READY":
      me = event.data["user"]?["id"]?.stringValue
      host.log("connected as \(event.data["user"]?["username"]?.stringValue ?? "?")")
      try await catchUp()
      return try await keep()
    case "RESUMED":
      host.log("connected, where it was")
      return try await keep()
    case "GUILD_CREATE": try await meet(guild: event.data)
    case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE": channels.learn(event.data)
    case "THREAD_UPDATE", "THREAD_DELETE", "CHANNEL_DELETE": try await changed(event)
    default: break
    }
    if event.session.sequence - keptSequence >= Self.keepEvery { try await keep() }
  }

  private func keep() async throws {
    try await host.save(state: state.asJSON)
    keptSequence = state.gateway?.sequence ?? 0
  }

  /// Asks until Discord says where something happened: what belongs here must not be passed over.
  private func place(of data: JSONValue) async throws -> Conversation? {
    while true {
      do {
        return try await channels.conversation(of: data)
      } catch .refused(let status, _, _) where status < 500 && status != 401 {
        return nil
      } catch {
        host.log("where a message was written could not be found out: \(error.asDeliveryFailure.wireError.message)")
        try await LoopClock.shared.sleep(for: .seconds(5))
      }
    }
  }

  /// - Returns: whether the host has stored the state with it.
  private func received(_ data: JSONValue) async throws -> Bool {
    guard let place = try await place(of: data), var message = DiscordMessages.received(data, in: place, me: me) else {
      return false
    }
    state.saw(message.id, in: place.id)
    message.state = state.asJSON
    guard try await host.received(message).stored else { return false }
    keptSequence = state.gateway?.sequence ?? 0
    acknowledge(message)
    return true
  }

  private func acknowledge(_ message: MessageReceived) {
    guard let reaction = settings.reactions?.accepted ?? DiscordSettings.Reactions.usual, !reaction.isEmpty else {
      return
    }
    react(reaction, to: message.id, in: message.conversation.id)
  }

  func react(_ reaction: String, to message: String, in channel: String) {
    nursery.add { [rest, host] in
      do throws(RESTError) {
        try await rest.ask(.react(reaction, to: message, in: channel))
      } catch {
        // Decoration: neither tried for long nor worth more than a line.
        host.log("a reaction could not be added: \(error.asDeliveryFailure.wireError.message)")
      }
    }
  }

  // MARK: - After a break

  /// A new session has begun. What was written since the last one is fetched; a first start fetches nothing.
  private func catchUp() async throws {
    let now = Snowflake.at(Date().timeIntervalSince1970)
    for channel in settings.channels ?? [] where state.watermark(of: channel) == nil { state.saw(now, in: channel) }
    for (channel, watermark) in state.watermarks { try await fetch(channel, after: watermark) }
  }

  private func fetch(_ channel: String, after watermark: String) async throws {
    let missed: [JSONValue]
    do {
      missed = try await Backfill(rest: rest, log: { [host] in host.log($0) })
        .messages(in: channel, after: watermark)
    } catch {
      if case .refused(status: 404, _, _) = error { state.forget(channel) }
      host.log("channel \(channel): what was missed could not be fetched: \(error.asDeliveryFailure.wireError.message)")
      return
    }
    var count = 0
    for message in missed where try await received(message) { count += 1 }
    if count > 0 { host.log("channel \(channel): \(count) message(s) were written during the break, and are fetched") }
  }

  private func meet(guild: JSONValue) async throws {
    channels.learn(guild: guild)
    await uploads.learn(guild: guild)
    if channels.servesElsewhere, let id = guild["id"]?.stringValue { nursery.add { [menu] in await menu.joined(id) } }
    guard case .array(let threads)? = guild["threads"] else { return }
    for thread in threads {
      // A thread that began during the break.
      guard let place = channels.learn(thread), state.watermark(of: place.id) == nil, let parent = place.parent,
        let last = state.watermark(of: parent), Snowflake.isOlder(last, than: place.id)
      else { continue }
      try await fetch(place.id, after: Snowflake.before(place.id))
    }
  }

  /// A thread was put away, taken out again, or deleted; or a channel was.
  private func changed(_ event: GatewayEvent) async throws {
    let place = channels.learn(event.data) ?? channels.configured(event.data["id"]?.stringValue)
    if event.name != "THREAD_UPDATE", let id = event.data["id"]?.stringValue {
      channels.forget(id)
      state.forget(id)
    }
    guard let place else { return }
    if event.name != "THREAD_UPDATE" {
      try await host.closed(ConversationClosed(conversation: place, deleted: true))
    } else if event.data["thread_metadata"]?["archived"] == true {
      try await host.closed(ConversationClosed(conversation: place))
    } else {
      try await host.reopened(ConversationReopened(conversation: place))
    }
  }
}
