internal import FoundationEssentials
internal import MessengerKit
package import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

/// One bot: what happens at Discord goes to the host, and what the host says goes to Discord.
package actor DiscordMessenger: Plugin {
  package static let name = "discord"
  package static let version = "0.1.0"
  static let defaultAPI = "https://discord.com/api/v10"
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
  let streaming: GrowingEdits<JSONValue, RESTError>
  let token: SharedToken
  let taskScope = TaskScope()
  private let problems: ProblemReports
  private let gateway = SetOnce<GatewayClient>()
  private var presence: String?
  private var state: DiscordState
  private var session: GatewaySession?
  private var keptSequence = 0
  /// Sequences of events that the host does not have yet, though later ones.
  private var underWay: Set<Int> = []
  /// The watermarks at the beginning of a session, until all that was missed has been fetched; then nil.
  private var before: DiscordState?
  /// Servers of a new session that have not been told of yet.
  private var unmet: Set<String> = []

  /// - Throws: `ConfigurationProblems`.
  package init(_ host: Host) throws {
    let settings = try DiscordSettings(checked: host.about.config)
    self.host = host
    self.settings = settings
    problems = ProblemReports(host, beginningWith: "the bot is not connected to Discord yet")
    let rest = RESTClient(
      .init(base: settings.api ?? Self.defaultAPI, token: settings.token ?? "", proxy: settings.proxy))
    self.rest = rest
    state = DiscordState(host.about.state)
    token = SharedToken(folder: host.about.dataDir)
    channels = Channels(settings, heard: state.seen.all.map(\.conversation), rest)
    // Discord shows it for ten seconds.
    typing = TypingIndicator(renewal: .seconds(8), show: { _ = try? await rest.ask(.typing(in: $0)) })
    streaming = GrowingEdits(
      rest.growth,
      log: { host.log("a growing message could not be changed: \($0.words)") })
    interactions = Interactions(host, rest, channels, taskScope)
    menu = CommandMenu(rest, channels, log: { host.log($0) })
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
    capabilities.maximumFileBytes = UploadLimits.most
    capabilities.attachmentHosts = ["cdn.discordapp.com", "media.discordapp.net"]
    return capabilities
  }

  /// Stays connected until cancelled.
  package func run() async throws {
    let gateway = GatewayClient(
      // A plugin that does not know the bot's own id begins a new session, which tells it: without the id it could not
      // tell when the bot is mentioned.
      rest, resuming: settings.mentions == true && state.me == nil ? nil : state.gateway,
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
    // So that the next life is told again of as little as can be.
    if session != nil {
      do { try await keep() } catch { host.log("the place in the stream could not be kept: \(error)") }
    }
  }

  // MARK: - Events

  /// - Returns: whether nothing of what was missed is still to be fetched.
  private func handle(_ event: GatewayEvent) async throws -> Bool {
    try await take(event)
    return before == nil
  }

  private func take(_ event: GatewayEvent) async throws {
    session = event.session
    switch event.name {
    case "MESSAGE_CREATE": if try await received(event.data) { return }
    case "MESSAGE_UPDATE":
      if let place = try await place(of: event.data),
        let edit = DiscordMessages.edited(event.data, in: place, me: state.me)
      {
        try await host.edited(edit)
      }
    case "MESSAGE_DELETE":
      if let place = try await place(of: event.data), let gone = DiscordMessages.deleted(event.data, in: place) {
        try await host.deleted(gone)
      }
    case "INTERACTION_CREATE": try await take(interaction: event)
    case "READY":
      state.me = event.data["user"]?["id"]?.stringValue
      host.log("connected as \(event.data["user"]?["username"]?.stringValue ?? "?")")
      try await catchUp(event.data)
    case "RESUMED":
      host.log("connected, where it was")
      await findFirstWatermarks()
      return try await keep()
    case "GUILD_CREATE": try await meet(guild: event.data)
    case "GUILD_DELETE": break
    case "CHANNEL_CREATE", "CHANNEL_UPDATE":
      channels.learn(event.data)
      begin(event.data)
    case "THREAD_CREATE":
      // From its first message on nothing of it is to be missed.
      if let thread = channels.learn(event.data), state.seen[thread.id] == nil {
        see(Snowflake.before(thread.id), in: thread.id)
      }
    case "THREAD_UPDATE", "THREAD_DELETE", "CHANNEL_DELETE": try await changed(event)
    default: break
    }
    if event.name.hasPrefix("GUILD_"), let id = event.data["id"]?.stringValue, unmet.remove(id) != nil, unmet.isEmpty {
      before = nil
      return try await keep()
    }
    if event.session.sequence - keptSequence >= Self.keepEvery { try await keep() }
  }

  /// The state from which the next process goes on. While missed messages are being fetched the state holds no session
  /// to resume: the next process fetches them again. Events that are under way come again.
  private func storable(_ state: DiscordState) -> JSONValue {
    var state = state
    state.gateway = before == nil ? session : nil
    if let first = underWay.min() { state.gateway?.sequence = min(session?.sequence ?? first, first - 1) }
    return state.asJSON
  }

  private func keep() async throws {
    try await host.save(state: storable(state))
    keptSequence = session?.sequence ?? 0
  }

  private func take(interaction event: GatewayEvent) async throws {
    let number = event.session.sequence
    underWay.insert(number)
    if try await interactions.take(event.data, later: { await self.finished(number) }) { finished(number) }
  }

  private func finished(_ number: Int) { underWay.remove(number) }

  /// Asks until Discord says where something happened: what belongs here must not be passed over.
  private func place(of data: JSONValue, isAddressed: Bool? = nil) async throws -> Conversation? {
    while true {
      do {
        return try await channels.conversation(of: data, isAddressed: isAddressed)
      } catch .refused(let status, _, _) where status < 500 && status != 401 {
        return nil
      } catch {
        host.log("where a message was written could not be found out: \(error.words)")
        try await LoopClock.shared.sleep(for: .seconds(5))
      }
    }
  }

  /// - Returns: whether the host has stored the state with it.
  private func received(_ data: JSONValue) async throws -> Bool {
    let isAddressed = DiscordMessages.isAddressed(data, state.me)
    let found = try await place(of: data, isAddressed: isAddressed)
    if let found, token.isAnothers(data, me: state.me) { return try await noteOther(in: found) }
    guard let place = found,
      var message = DiscordMessages.received(data, in: place, me: state.me)
    else {
      // Talk among others in a place where the bot has been mentioned: not to be looked through again after a break.
      if let id = data["id"]?.stringValue, let channel = data["channel_id"]?.stringValue, channels.hears(channel) {
        see(id, in: channel)
      }
      return false
    }
    var next = state
    next.seen.saw(message.id, in: place.id, keeping: settings.channels ?? [])
    message.state = storable(next)
    let reply = try await host.received(message)
    // Messages of strangers leave no trace.
    if reply.refused != true {
      state.seen.saw(message.id, in: place.id, keeping: settings.channels ?? [])
      if isAddressed { channels.hear(place.id) }
    }
    guard reply.stored else { return false }
    keptSequence = session?.sequence ?? 0
    acknowledge(message)
    return true
  }

  /// Another program answers here.
  ///
  /// - Returns: whether the host has stored that.
  private func noteOther(in place: Conversation) async throws -> Bool {
    guard state.noteOther(in: place.id, now: Date().timeIntervalSince1970) else { return false }
    host.log(
      "another pi-relay answers with this bot's token in \(place.title.map { "#\($0)" } ?? "channel \(place.id)"), too: "
        + "give each machine channels of its own, and dms: true to one of them")
    try await keep()
    return true
  }

  private func acknowledge(_ message: MessageReceived) {
    guard let reaction = settings.reactions?.accepted ?? DiscordSettings.Reactions.usual, !reaction.isEmpty else {
      return
    }
    react(reaction, to: message.id, in: message.conversation.id)
  }

  func react(_ reaction: String, to message: String, in channel: String) {
    taskScope.add { [rest, host] in
      do throws(RESTError) {
        try await rest.ask(.react(reaction, to: message, in: channel))
      } catch {
        // Decoration: neither tried for long nor worth more than a line.
        host.log("a reaction could not be added: \(error.words)")
      }
    }
  }

  // MARK: - After a break

  /// A new session has begun. What was written since the last one is fetched; a first start fetches nothing.
  private func catchUp(_ ready: JSONValue) async throws {
    if case .array(let guilds)? = ready["guilds"] { unmet = Set(guilds.compactMap { $0["id"]?.stringValue }) }
    before = state
    for (channel, watermark) in state.seen.all { try await fetch(channel, after: watermark) }
    if unmet.isEmpty {
      before = nil
      try await keep()
    }
  }

  private func see(_ message: String, in channel: String) {
    state.seen.saw(message, in: channel, keeping: settings.channels ?? [])
  }

  /// Sets the first watermark of a channel that is configured: what Discord says was written last. This machine's time of
  /// day says nothing of Discord's.
  private func begin(_ channel: JSONValue) {
    guard let id = channel["id"]?.stringValue, channels.configured(id) != nil, state.seen[id] == nil else {
      return
    }
    // In a channel without a message all ids are later than its own.
    see(channel["last_message_id"]?.stringValue ?? id, in: id)
  }

  /// A session that is resumed does not tell of channels that have been added to the configuration.
  private func findFirstWatermarks() async {
    for channel in settings.channels ?? [] where state.seen[channel] == nil {
      do throws(RESTError) {
        begin(try await rest.ask(.channel(channel)))
      } catch {
        host.log("channel \(channel) cannot be looked at: \(error.words)")
      }
    }
  }

  private static let fetching = Tries(8, first: .seconds(1), longest: .seconds(30))

  private func fetch(_ channel: String, after watermark: String) async throws {
    guard let missed = try await missed(channel, after: watermark) else { return }
    state.seen.caughtUp(channel)
    var count = 0
    for message in missed where try await received(message) { count += 1 }
    if count > 0 { host.log("channel \(channel): \(count) message(s) were written during the break, and are fetched") }
  }

  /// Nil where nothing can be had.
  private func missed(_ channel: String, after watermark: String) async throws -> [JSONValue]? {
    let backfill = Backfill(rest: rest, log: { [host] in host.log($0) })
    let found = try await Self.fetching.run { () -> [JSONValue]?? in
      do throws(RESTError) {
        return .some(try await backfill.messages(in: channel, after: watermark))
      } catch {
        host.log("channel \(channel): what was missed cannot be fetched: \(error.words)")
        guard case .refused(let status, _, _) = error, status < 500, status != 401 else { return nil }
        if status == 404 { try await gone(channel) }
        return .some(nil)
      }
    }
    // Fetched with the next session: until then nothing of this channel counts as seen.
    if found == nil { state.seen.miss(channel) }
    return found ?? nil
  }

  /// A thread that was deleted during the break, or a channel.
  private func gone(_ channel: String) async throws {
    state.seen.forget(channel)
    let place = channels.configured(channel) ?? Conversation(id: channel, kind: .thread)
    try await host.closed(ConversationClosed(conversation: place, deleted: true))
  }

  private func meet(guild: JSONValue) async throws {
    let known = before ?? state
    channels.learn(guild: guild)
    for list in ["channels", "threads"] {
      if case .array(let channels)? = guild[list] { for channel in channels { begin(channel) } }
    }
    await uploads.learn(guild: guild)
    if channels.servesElsewhere || channels.areIn(guild), let id = guild["id"]?.stringValue {
      taskScope.add { [menu] in await menu.joined(id) }
    }
    guard case .array(let threads)? = guild["threads"] else { return }
    for thread in threads {
      // A thread that began during the break.
      guard let place = channels.learn(thread), state.seen[place.id] == nil, let parent = place.parent,
        let last = known.seen[parent], Snowflake.isOlder(last, than: place.id)
      else { continue }
      see(Snowflake.before(place.id), in: place.id)
      try await fetch(place.id, after: Snowflake.before(place.id))
    }
  }

  /// A thread was put away, taken out again, or deleted; or a channel was.
  private func changed(_ event: GatewayEvent) async throws {
    let place = channels.learn(event.data) ?? channels.configured(event.data["id"]?.stringValue)
    if event.name != "THREAD_UPDATE", let id = event.data["id"]?.stringValue {
      channels.forget(id)
      state.seen.forget(id)
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
