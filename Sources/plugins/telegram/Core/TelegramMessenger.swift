internal import MessengerHTTP
internal import MessengerKit
package import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

/// The bot: passes Telegram's updates to the host, and carries out the host's requests at Telegram.
package actor TelegramMessenger: Plugin {
  package static let name = "telegram"
  package static let version = "0.1.0"

  let host: Host
  let settings: TelegramSettings
  let api: BotAPI
  let text: MessageText
  let drafts: OpenDrafts
  let streaming: GrowingEdits<String, RESTError>
  let typing: TypingIndicator
  let files: IncomingFiles
  let problems: ProblemReports
  let taskScope = TaskScope()
  let lanes: Lanes
  var state: TelegramState
  var reception = Reception()
  /// Sends of this process, by the host's keys.
  var sends = SendProgress<Void>()

  /// The knowledge that a process gathers to understand updates.
  struct Reception: Sendable {
    /// Updates that were received and are not confirmed yet.
    var known: Set<Int> = []
    var albums = Albums()
    let now = LoopClock.shared.reading
    /// The relay's commands by their names in Telegram's menu.
    var commands: [String: String] = [:]
    var me: Me?
    /// The reasons why chats take nothing from the bot, by chat.
    var closed: [Int: String] = [:]
  }

  /// - Throws: `ConfigurationProblems`.
  package init(_ host: Host) throws {
    let settings = try TelegramSettings(checked: host.about.config)
    self.host = host
    self.settings = settings
    let api = BotAPI(settings)
    self.api = api
    let text = MessageText(api)
    self.text = text
    problems = ProblemReports(host, beginningWith: "the bot is not connected to Telegram yet")
    lanes = Lanes(taskScope)
    let state = TelegramState(host.about.state, bot: settings.bot)
    self.state = state
    files = IncomingFiles(host, proxy: settings.proxy, allowsPrivate: !settings.isPublicServer)
    let me = SetOnce<TelegramMessenger>()
    // Telegram shows it for five seconds.
    typing = TypingIndicator(renewal: .seconds(4), show: { await me.value?.showTyping(in: $0) })
    drafts = OpenDrafts(show: { await me.value?.refresh($0) })
    streaming = GrowingEdits(
      .init(
        takesRoom: { await api.requests.takesRoomToSpare(for: await me.value?.lane(of: $0.conversation) ?? .init("")) },
        waitsForRoom: {
          await api.requests.waitsForRoomToSpare(for: await me.value?.lane(of: $0.conversation) ?? .init(""))
        },
        change: { place, text, isLate throws(RESTError) in
          try await me.value?.grow(place.message, to: text, in: place.conversation, isLate: isLate)
        }),
      log: { host.log("a growing message could not be changed: \($0.words)") })
    me.set(self)
  }

  package nonisolated var capabilities: Capabilities {
    var capabilities = Capabilities.messenger(maximumTextLength: 4_096, dialect: "markdown", edit: true)
    capabilities.minimumEditInterval = 1_000
    capabilities.typing = true
    capabilities.buttons = Keyboards.limits
    capabilities.commandsMenu = true
    capabilities.outcomes = true
    capabilities.threads = true
    capabilities.directMessages = true
    capabilities.maximumFileBytes = Self.maximumFileBytes
    return capabilities
  }

  /// Hears until cancelled.
  package func run() async throws {
    if let proxy = api.proxy { host.log("Telegram is reached through the proxy \(proxy)") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await StayingConnected.run(report: { await self.problems.take($0) }) { try await self.hear($0) }
      }
      group.addTask { [taskScope] in await taskScope.run() }
      defer {
        taskScope.close()
        group.cancelAll()
      }
      try await group.next()
    }
  }

  package static func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    try await TelegramSetup(dialogue, known: known).run()
  }

  package static func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    try await TelegramCheck.findings(request)
  }

  package func shutdown() async {
    await typing.end()
    await drafts.end()
    // Kept so that the next process receives as few updates again as possible.
    do { try await keep() } catch { host.log("the position could not be kept: \(error)") }
  }

  func keep() async throws {
    try await host.save(state: state.asJSON)
    state.position.keep()
  }
}
