internal import MessengerHTTP
internal import MessengerKit
package import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

/// The bot: passes Slack's events to the host, and carries out the host's requests at Slack.
package actor SlackMessenger: Plugin {
  package static let name = "slack"
  package static let version = "0.1.0"

  let host: Host
  let settings: SlackSettings
  let client: SlackClient
  let people: SlackPeople
  let replies: SlackReplies
  let streams: SlackStreams
  let files: IncomingFiles
  let typing: TypingIndicator
  let posts: SlackPosts
  let streaming: GrowingEdits<SlackPosts.Content, RESTError>
  let forms = OpenForms()
  let standing: SlackStanding
  let taskScope = TaskScope()
  var progress: SlackProgress
  var me: SlackIdentity?

  /// - Throws: `ConfigurationProblems`.
  package init(_ host: Host) throws {
    let settings = try SlackSettings(checked: host.about.config)
    self.host = host
    self.settings = settings
    let standing = SlackStanding(ProblemReports(host, beginningWith: SlackStanding.beginning))
    self.standing = standing
    let client = SlackClient(settings, told: { await standing.heard($0, $1) })
    self.client = client
    progress = SlackProgress(SlackState(host.about.state))
    people = SlackPeople(client, log: { host.log($0) })
    replies = SlackReplies(client)
    let streams = SlackStreams(client, log: { host.log($0) })
    self.streams = streams
    let posts = SlackPosts(client: client, streams: streams)
    self.posts = posts
    files = IncomingFiles(host, proxy: settings.proxy, allowsPrivate: client.interface.allowsPlain)
    // Slack takes a status away after two minutes.
    typing = TypingIndicator(renewal: .seconds(90)) { conversation in
      await Self.show("is working…", in: SlackPlace(conversation), client)
    }
    streaming = GrowingEdits(
      posts.growth, log: { host.log("a growing message could not be changed: \($0.words)") })
  }

  package nonisolated var capabilities: Capabilities {
    var capabilities = Capabilities.messenger(
      maximumTextLength: Self.maximumTextLength, dialect: "markdown", edit: true)
    capabilities.minimumEditInterval = 1_500
    capabilities.typing = true
    capabilities.lookup = true
    capabilities.buttons = SlackBlocks.limits
    capabilities.outcomes = true
    capabilities.threads = true
    capabilities.directMessages = true
    capabilities.maximumFileBytes = 100 << 20
    return capabilities
  }

  /// A message is changed to at most 4,000 characters, `&amp;` counted as five.
  static let maximumTextLength = 3_500

  /// Stays connected until cancelled.
  package func run() async throws {
    if let proxy = client.interface.proxy() { host.log("Slack is reached through the proxy \(proxy)") }
    let connections = SlackConnections(
      client: client, silence: .seconds(settings.silenceSeconds ?? 30), log: { [host] in host.log($0) },
      prepare: { try await self.introduce() }, report: { [standing] in await standing.take($0) })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await connections.run(arrived: { envelope in self.arrived(envelope) }) { try await self.handle($0) }
      }
      group.addTask { [taskScope] in await taskScope.run() }
      defer {
        taskScope.close()
        group.cancelAll()
      }
      try await group.next()
    }
  }

  private func introduce() async throws {
    do throws(RESTError) {
      let me = try await SlackIdentity.ask(client)
      self.me = me
      await streams.introduce(me)
    } catch {
      throw SlackConnections.ending(error)
    }
  }

  package static func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    try await SlackSetup(dialogue, known: known).run()
  }

  package static func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    try await SlackCheck.findings(request)
  }

  package func setTyping(_ request: TypingSet) async {
    guard SlackPlace(request.conversation).thread != nil, me?.scopes.contains("assistant:write") == true else { return }
    await typing.set(request.active, in: request.conversation)
    if !request.active { await Self.show("", in: SlackPlace(request.conversation), client) }
  }

  private static func show(_ status: String, in place: SlackPlace, _ client: SlackClient) async {
    let arguments: [String: JSONValue] = [
      "channel_id": .string(place.channel), "thread_ts": .string(place.thread ?? ""), "status": .string(status),
    ]
    // Decoration; the next one follows.
    _ = try? await client.ask("assistant.threads.setStatus", arguments, within: .seconds(5))
  }

  package func shutdown() async { await typing.end() }

  func keep() async throws { try await host.save(state: progress.state.asJSON) }
}

/// The problems that the person is told of: the connection, and Slack's refusals of the bot's token.
actor SlackStanding {
  private let problems: ProblemReports
  private var connection: String? = SlackStanding.beginning
  static let beginning = "the bot is not connected to Slack yet"
  /// By the method; those of the token under no name.
  private var refusals: [String: String] = [:]

  init(_ problems: ProblemReports) { self.problems = problems }

  /// The connection is there, and what was missed has been fetched.
  func isConnected() async {
    connection = nil
    await tell()
  }

  func take(_ step: Reconnection.Step) async {
    switch step.report {
    case .nothing: return
    case .problem(let words): connection = "not connected to Slack: \(words)"
    case .refusal(let words):
      connection = words
      return await problems.tellRefusal(words, again: step.pause)
    }
    await tell()
  }

  /// Takes the end of a request.
  func heard(_ method: String, _ error: RESTError?) async {
    let problem = error.flatMap(SlackError.problem)
    let isOfToken = error?.code != "missing_scope"
    if let problem {
      guard refusals.updateValue(problem, forKey: isOfToken ? "" : method) != problem else { return }
    } else if error == nil {
      let (token, own) = (refusals.removeValue(forKey: ""), refusals.removeValue(forKey: method))
      guard token != nil || own != nil else { return }
    } else {
      return
    }
    await tell()
  }

  private func tell() async {
    var all = connection.map { [$0] } ?? []
    for (_, words) in refusals.sorted(by: { $0.key < $1.key }) where !all.contains(words) { all.append(words) }
    await problems.tell(all: all)
  }
}
