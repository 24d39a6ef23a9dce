internal import FoundationEssentials
internal import MessengerKit
package import PluginSDK

/// The bot: passes messages on IRC to the host, and the host's messages to IRC.
package actor IRCMessenger: Plugin {
  package static let name = "irc"
  package static let version = "0.1.0"
  /// Of a longer text lines are joined: at the pace of IRC it would take minutes.
  private static let maximumLines = 40

  private let host: Host
  private let settings: IRCSettings
  private let problems: ProblemReports
  /// Times of the last messages, where the server tells them, and nicks by which people wrote last.
  private var seen: Watermarks
  private var nicks: Watermarks
  private var connection: IRCConnection?
  private let sends = PartwiseSends<String>()
  private var ids = OwnIDs()

  /// - Throws: `ConfigurationProblems`.
  package init(_ host: Host) throws {
    self.host = host
    settings = try IRCSettings(checked: host.about.config)
    problems = ProblemReports(host, beginningWith: "the bot is not connected to IRC yet")
    seen = Watermarks(kept: host.about.state, isOlder: { $0 < $1 })
    nicks = Watermarks(kept: host.about.state?["nicks"], isOlder: { $0 != $1 })
  }

  package nonisolated var capabilities: Capabilities {
    var capabilities = Capabilities.messenger(maximumTextLength: 1_200, unit: .utf8)
    capabilities.directMessages = true
    return capabilities
  }

  /// Stays connected until cancelled.
  package func run() async throws {
    try await StayingConnected.run(report: { await self.problems.take($0, of: "IRC") }) { try await self.live($0) }
  }

  private func live(_ isOfUse: @Sendable () -> Void) async throws -> ConnectionEnding {
    let connection = try await IRCConnection.open(settings)
    isOfUse()
    self.connection = connection
    defer { self.connection = nil }
    host.log("connected as \(await connection.session.nick)")
    await problems.tell(nil)
    return try await connection.run { try await self.take($0, connection) }
  }

  package func shutdown() async { await connection?.quit() }

  // MARK: - What is said on IRC

  private func take(_ line: IRCLine, _ connection: IRCConnection) async throws {
    if line.command == "PRIVMSG" { return try await received(line, isPast: false, connection) }
    let session = await connection.session
    await problems.tell(all: session.problems.values.sorted())
    guard line.command == "JOIN", session.isMe(line.nick) else { return }
    for channel in settings.channelNames where session.fold(channel) == session.fold(line[0]) {
      try await catchUp(channel, connection)
    }
  }

  /// Messages of a channel from while the bot was away, where the server keeps them. Later messages come after them.
  private func catchUp(_ channel: String, _ connection: IRCConnection) async throws {
    guard await connection.session.capabilities.contains("draft/chathistory"), let mark = seen[channel] else { return }
    let missed = await CatchUp<IRCLine>(after: mark, pageSize: 100, mark: { $0.tags["time"] }, isOlder: { $0 < $1 }) {
      await connection.history(channel, after: $0)
    }
    for line in missed.messages where line.command == "PRIVMSG" { try await received(line, isPast: true, connection) }
    if missed.isCut { host.log("\(channel): more messages were missed than are fetched; the later ones are left out") }
  }

  private func received(_ line: IRCLine, isPast: Bool, _ connection: IRCConnection) async throws {
    let session = await connection.session
    let channel = settings.channelNames.first { session.fold($0) == session.fold(line[0]) }
    guard line.source.contains("!"), !session.isMe(line.nick), channel != nil || session.isMe(line[0]),
      let (text, isNamed) = await words(of: line, isPast ? nil : connection, session.nick)
    else { return }
    let author = await connection.author(of: line, isPast: isPast)
    let place = Conversation(id: channel ?? author, kind: channel == nil ? .dm : .channel, title: channel)
    let time = line.tags["time"].flatMap { try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse($0) }
    var message = MessageReceived(
      id: line.tags["msgid"] ?? ids.next(), time: time?.timeIntervalSince1970, conversation: place,
      sender: Sender(id: author, name: line.nick), text: text, mention: isNamed ? true : nil)
    var (seen, nicks) = (seen, nicks)
    if let time = line.tags["time"], channel != nil { seen.saw(time, in: place.id, keeping: settings.channelNames) }
    if channel == nil { nicks.saw(line.nick, in: author) }
    message.state = seen.asJSON.setting("nicks", nicks.asJSON)
    // Messages of strangers leave no trace on the disk.
    if try await host.received(message).refused != true { self.nicks = nicks }
    self.seen = seen
  }

  /// The text of a line; nil for what is no message of a person. A question for the version is answered where it is asked now.
  private func words(of line: IRCLine, _ connection: IRCConnection?, _ me: String) async -> (String, isNamed: Bool)? {
    var text = IRCText.plain(line.text)
    if line.text.hasPrefix("\u{1}") {
      if text == "VERSION" { await connection?.offer("NOTICE \(line.nick) :\u{1}VERSION pi-relay\u{1}") }
      guard text.hasPrefix("ACTION ") else { return nil }
      text = "* \(line.nick) \(text.dropFirst(7))"
    }
    let (words, isNamed) = text.addressed(to: me)
    return words.isEmpty ? nil : (words.withCommandSlash, isNamed)
  }

  // MARK: - What the host says

  package func send(_ request: MessageSend) async throws -> Receipt {
    guard let connection else { throw DeliveryFailure.transient("the bot is not connected to IRC") }
    let target = try await target(of: request.conversation, connection)
    let room = await connection.session.room(to: target)
    return try await sends.send(request.key) { rest in
      let lines = (rest?.joined(separator: "\n") ?? request.text).lines(ofBytes: room)
      return lines.count > Self.maximumLines ? lines.joined(separator: " ⏎ ").lines(ofBytes: room) : lines
    } by: {
      try await connection.say($0, to: target, as: request.key)
    }
  }

  /// A direct message goes to a person, not to whoever bears their nick now.
  private func target(of conversation: String, _ connection: IRCConnection) async throws -> String {
    if settings.channelNames.contains(conversation) { return conversation }
    // A person who has not written yet may be there under the name of the account.
    let nick = nicks[conversation] ?? conversation
    if nick.contains(where: { "!@ ".contains($0) }) {
      throw DeliveryFailure.notFound("IRC: no nick of \(conversation) is known")
    }
    guard await connection.bears(nick, conversation) else {
      throw DeliveryFailure.transient("IRC: \(conversation) is not there under a nick that is known")
    }
    return nick
  }

  /// The person's id is the conversation's.
  package func openConversation(_ request: ConversationOpen) async throws -> ConversationOpen.Reply {
    .init(conversation: Conversation(id: request.user, kind: .dm))
  }
}
