package import PluginSDK
internal import RelayPipes

/// One bot: what happens at Discord goes to the host, and what the host says goes to Discord.
package final class DiscordMessenger: Sendable {
  package struct Settings: Decodable, Sendable {
    package var token: String?
    package var channels: [String]?
    package var proxy: String?
    /// Another address of Discord's interface, for tests.
    package var api: String?
  }

  static let usualAPI = "https://discord.com/api/v10"
  /// Events of no interest to a person after which the place in the stream is kept all the same.
  private static let keepEvery = 50

  private let host: Host
  private let channels: Set<String>
  private let rest: RESTClient
  private let typing: TypingIndicator
  private let kept: Locked<Int>

  /// - Throws: `ConfigurationProblems`.
  package init(_ host: Host) throws {
    let settings = try host.config(as: Settings.self)
    let token = settings.token ?? ""
    let channels = settings.channels ?? []
    let problems = Self.problems(token: token, channels: channels)
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
    self.host = host
    self.channels = Set(channels)
    rest = RESTClient(.init(base: settings.api ?? Self.usualAPI, token: token, proxy: settings.proxy))
    typing = TypingIndicator(rest)
    kept = Locked(0)
  }

  private static func problems(token: String, channels: [String]) -> [ConfigurationProblem] {
    var problems: [ConfigurationProblem] = []
    if token.isEmpty {
      problems.append(
        ConfigurationProblem(
          path: "token",
          message:
            "is missing; put the bot's token into a file and name it with tokenFile, or into a variable and name "
            + "that with tokenEnv"))
    } else if !token.allSatisfy({ $0.isASCII && !$0.isWhitespace }) {
      problems.append(
        ConfigurationProblem(path: "token", message: "holds blanks or other characters that no token has"))
    }
    for (index, channel) in channels.enumerated() where !isID(channel) {
      problems.append(
        ConfigurationProblem(
          path: "channels.\(index)", message: "is no id of a channel, which has 17 to 20 digits, in quotes"))
    }
    return problems
  }

  static func isID(_ text: String) -> Bool {
    (17...20).contains(text.count) && text.allSatisfy { $0.isASCII && $0.isNumber }
  }

  package static var capabilities: Capabilities {
    var capabilities = Capabilities.messenger(maximumTextLength: 2_000, dialect: "discord", edit: true)
    capabilities.minimumEditInterval = 800
    capabilities.typing = true
    capabilities.attachmentHosts = ["cdn.discordapp.com", "media.discordapp.net"]
    return capabilities
  }

  /// Stays connected until cancelled.
  package func run() async throws {
    let gateway = GatewayClient(
      rest, resuming: GatewaySession(kept: host.about.state?["gateway"]),
      handle: { [self] in try await handle($0) }, log: { [host] in host.log($0) })
    try await gateway.run()
  }

  private func state(_ session: GatewaySession) -> JSONValue { ["gateway": session.asJSON] }

  private func handle(_ event: GatewayEvent) async throws {
    switch event.name {
    case "MESSAGE_CREATE":
      let state = state(event.session)
      guard let message = DiscordMessages.received(event.data, channels: channels, state: state) else { break }
      if try await host.received(message).stored {
        kept.withLock { $0 = event.session.sequence }
        return
      }
    case "MESSAGE_UPDATE":
      if let edit = DiscordMessages.edited(event.data, channels: channels) { try await host.edited(edit) }
    case "MESSAGE_DELETE":
      if let deletion = DiscordMessages.deleted(event.data, channels: channels) { try await host.deleted(deletion) }
    case "READY", "RESUMED":
      host.log("connected as \(event.data["user"]?["username"]?.stringValue ?? "before")")
      return try await keep(event.session)
    default: break
    }
    if event.session.sequence - kept.withLock({ $0 }) >= Self.keepEvery { try await keep(event.session) }
  }

  private func keep(_ session: GatewaySession) async throws {
    try await host.save(state: state(session))
    kept.withLock { $0 = session.sequence }
  }

  // MARK: - Outbound

  private func content(_ text: String) -> [String: JSONValue] {
    // An agent's words ping nobody.
    ["content": .string(text), "allowed_mentions": ["parse": []]]
  }

  package func send(_ request: MessageSend) async throws -> Receipt {
    var body = content(request.text)
    body["nonce"] = .string(Self.nonce(of: request.key))
    // The same nonce again within a few minutes answers with the message that there is.
    body["enforce_nonce"] = true
    let answer = try await ask(.createMessage(in: request.conversation), .object(body))
    guard let id = answer["id"]?.stringValue else { throw DeliveryFailure.unknownOutcome("Discord named no message") }
    await typing.interrupted(in: request.conversation)
    return Receipt(message: id)
  }

  package func edit(_ request: MessageEdit) async throws -> Receipt {
    _ = try await ask(
      .editMessage(request.message, in: request.conversation), .object(content(request.text)))
    return Receipt(message: request.message)
  }

  package func delete(_ request: MessageDelete) async throws {
    do {
      _ = try await ask(.deleteMessage(request.message, in: request.conversation), nil)
    } catch DeliveryFailure.notFound {
      // It is gone already.
    }
  }

  package func setTyping(_ request: TypingSet) async {
    await typing.set(request.active, in: request.conversation)
  }

  package func shutdown() async { await typing.end() }

  private func ask(_ route: Route, _ body: JSONValue?) async throws -> JSONValue {
    do {
      return try await rest.ask(route, body)
    } catch {
      throw error.asDeliveryFailure
    }
  }

  /// At most 25 characters, the same for the same key.
  static func nonce(of key: String) -> String { String(key.filter { $0 != "-" }.suffix(25)) }
}
