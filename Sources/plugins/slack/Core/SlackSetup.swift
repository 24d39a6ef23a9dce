internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Leads somebody from an app's manifest to a bot that answers.
struct SlackSetup: Sendable {
  private static let maximumTries = 3

  private let dialogue: SetupDialogue
  private let known: JSONValue
  private let pairing: Pairing

  init(_ dialogue: SetupDialogue, known: JSONValue) throws {
    self.dialogue = dialogue
    self.known = known
    pairing = Pairing(dialogue, known: known)
  }

  private func client(token: String = "", appToken: String = "") -> SlackClient {
    SlackClient(
      api: known["api"]?.stringValue, token: token, appToken: appToken, proxy: known["proxy"]?.stringValue)
  }

  func run() async throws -> SetupReply {
    if let api = known["api"]?.stringValue, !SlackSettings.isSafe(api) {
      throw WireError(.internalError, "api must begin with https://; http:// only where it leads to 127.0.0.1")
    }
    try await dialogue.say(
      """
      1. Open https://api.slack.com/apps, press "Create New App", then "From a manifest", choose the workspace, and paste this as JSON:

      \(SlackManifest.json)

      2. Under "Basic Information", "App-Level Tokens", generate a token with the scope connections:write, and copy it.
      """)
    let appToken = try await askForAppToken()
    try await dialogue.say(
      "3. Under \"Install App\" install it to the workspace, and copy the \"Bot User OAuth Token\".")
    let (token, me) = try await askForToken()
    try await dialogue.say("This is the bot \(me.name) in \(me.teamName).")
    try await waitForScopes(token, me)
    let channels = try await askForChannels()
    var users = try await askForUsers()
    if users.isEmpty { users = [try await pair(token, appToken, me)] }
    var settings: [String: JSONValue] = ["channels": .array(channels.map { .string($0) })]
    for name in ["api", "proxy"] { settings[name] = known[name] }
    return SetupReply(settings: settings, secrets: ["token": token, "appToken": appToken], users: users)
  }

  private func askForAppToken() async throws -> String {
    try await dialogue.ask(
      "appToken", "The app-level token (xapp-…):", secret: true,
      failure: "no app-level token was given that Slack accepts"
    ) { answer in
      let token = answer.filter { $0 != "\"" && $0 != "'" }
      guard SlackSettings.isToken(token, "xapp-") else {
        return .again("That is no app-level token: it begins with xapp-.")
      }
      do throws(RESTError) { try await client(appToken: token).ask("apps.connections.open") } catch {
        guard let problem = SlackError.problem(error) else { throw WireError(.internalError, error.words) }
        return .again("\(problem).")
      }
      return .good(token)
    }
  }

  private func askForToken() async throws -> (String, SlackIdentity) {
    try await dialogue.ask(
      "token", "The bot's token (xoxb-…):", secret: true, failure: "no bot's token was given that Slack accepts"
    ) { answer in
      let token = answer.filter { $0 != "\"" && $0 != "'" }
      guard SlackSettings.isToken(token, "xoxb-") else {
        return .again("That is no bot's token: it begins with xoxb-.")
      }
      do throws(RESTError) { return .good((token, try await SlackIdentity.ask(client(token: token)))) } catch {
        guard let problem = SlackError.problem(error) else { throw WireError(.internalError, error.words) }
        return .again("\(problem).")
      }
    }
  }

  private func waitForScopes(_ token: String, _ me: SlackIdentity) async throws {
    var missing = SlackCheck.missing(me)
    for _ in 0..<Self.maximumTries where !missing.isEmpty {
      _ = try await dialogue.ask(
        "scopes",
        "The app lacks the scopes \(missing.joined(separator: ", ")): add them under \"OAuth & Permissions\", install the app again, "
          + "and press Enter.")
      do throws(RESTError) { missing = SlackCheck.missing(try await SlackIdentity.ask(client(token: token))) } catch {
        throw WireError(.internalError, error.words)
      }
    }
    guard missing.isEmpty else {
      throw WireError(.internalError, "the app still lacks the scopes \(missing.joined(separator: ", "))")
    }
  }

  private func askForChannels() async throws -> [String] {
    try await dialogue.ask(
      "channels",
      "4. Channels in which every message is for the bot, as ids with commas between (Enter: none; it answers where it is mentioned):",
      given: known["channels"]?.stringValue, failure: "no channels were given that are ids"
    ) { answer in
      let ids = SetupDialogue.list(answer)
      guard let wrong = ids.first(where: { !SlackSettings.isChannel($0) }) else { return .good(ids) }
      return .again(
        "\"\(wrong)\" is no id of a channel, which begins with C or G and stands at the end of the channel's details.")
    }
  }

  private func askForUsers() async throws -> [String] {
    try await dialogue.ask(
      "users", "5. Your member ID at Slack, or several with commas between (Enter: find it by a code):",
      given: known["users"]?.stringValue, failure: "no users were given that are member IDs"
    ) { answer in
      let ids = SetupDialogue.list(answer)
      guard let wrong = ids.first(where: { !"UW".contains($0.first ?? " ") }) else { return .good(ids) }
      return .again("\"\(wrong)\" is no member ID, which begins with U or W (your profile, \"Copy member ID\").")
    }
  }

  // MARK: - Pairing

  private func pair(_ token: String, _ appToken: String, _ me: SlackIdentity) async throws -> String {
    let (pairing, client) = (pairing, client(token: token, appToken: appToken))
    let people = SlackPeople(client, log: { StandardError.say($0) })
    let connections = SlackConnections(
      client: client, silence: .seconds(30), log: { StandardError.say($0) }, prepare: {},
      report: { step in
        if case .refusal(let words) = step.report { throw WireError(.internalError, words) }
      })
    return try await pairing.run {
      try await connections.run { arrival in
        guard case .envelope(let envelope) = arrival else { return try await pairing.isListening() }
        envelope.acknowledge()
        guard envelope.kind == .event, let event = envelope.payload["event"],
          let message = SlackMessage(event, me: me.user), message.place.isDirect
        else { return }
        let person = await people.person(message.user)
        guard !me.isStranger(person, team: message.team) else { return }
        try pairing.heard(message.text, from: Sender(id: message.user, name: person.name))
      }
    }.id
  }
}

/// Looks whether a configuration works at Slack.
enum SlackCheck {
  static func missing(_ me: SlackIdentity) -> [String] { SlackManifest.scopes.filter { !me.scopes.contains($0) } }

  static func findings(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    let settings = try SlackSettings(checked: request.config)
    let client = SlackClient(settings)
    var findings: [CheckRequest.Finding] = []
    if let proxy = client.interface.proxy() {
      findings.append(.init(true, "Slack is reached through the proxy \(proxy)"))
    }
    do throws(RESTError) {
      let me = try await SlackIdentity.ask(client)
      findings.append(.init(true, "the token is that of \(me.name) in \(me.teamName)"))
      let missing = missing(me)
      findings.append(
        missing.isEmpty
          ? .init(true, "all scopes are there")
          : .init(
            false,
            "the app lacks the scopes \(missing.joined(separator: ", ")): add them under OAuth & Permissions and install it again"
          ))
      try await client.ask("apps.connections.open")
      findings.append(.init(true, "Socket Mode is on"))
    } catch {
      findings.append(.init(false, SlackError.problem(error) ?? "Slack: \(error.words)"))
    }
    for channel in settings.channels ?? [] { findings.append(await finding(channel, client)) }
    return findings
  }

  private static func finding(_ channel: String, _ client: SlackClient) async -> CheckRequest.Finding {
    do throws(RESTError) {
      let place = try await client.ask("conversations.info", ["channel": .string(channel)])["channel"]
      let name = place?["name"]?.stringValue ?? channel
      guard place?["is_member"] == true else {
        return .init(false, "the bot is not in #\(name): invite it there with /invite")
      }
      return .init(true, "the bot is in #\(name)")
    } catch {
      return .init(false, "channel \(channel): \(error.words)")
    }
  }
}
