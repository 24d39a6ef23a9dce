internal import DiscordAPI
internal import MessengerKit
internal import PluginSDK
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Leads somebody from the developer portal to a bot that answers.
struct DiscordSetup: Sendable {
  private static let maximumTries = 3

  private struct Known: Decodable, Sendable {
    var api: String?
    var proxy: String?
    var channels: String?
    var users: String?
  }

  private let dialogue: SetupDialogue
  private let pairing: Pairing
  private let known: Known

  init(_ dialogue: SetupDialogue, known: JSONValue) throws {
    self.dialogue = dialogue
    pairing = Pairing(dialogue, known: known)
    self.known = try JSONCoding.convert(known, to: Known.self)
  }

  func run() async throws -> SetupReply {
    try await dialogue.say(
      """
      1. Open https://discord.com/developers/applications and make an application (New Application).
      2. Under "Bot", switch "Message Content Intent" on.
      3. There, press "Reset Token" and copy what it shows.
      """)
    let (token, portal, bot) = try await askForToken()
    try await dialogue.say("This is the bot \(bot.name).")
    try await waitForIntent(portal, bot)
    try await waitForServer(portal, bot)
    var settings: [String: JSONValue] = [:]
    if let api = known.api { settings["api"] = .string(api) }
    if let proxy = known.proxy { settings["proxy"] = .string(proxy) }
    let channels = try await askForChannels(portal)
    // Written out, so that what holds for every messenger does not change it.
    settings["channels"] = .array(channels.map { .string($0) })
    settings["dms"] = true
    return SetupReply(settings: settings, secrets: ["token": token], users: try await askForUsers(token))
  }

  private func askForToken() async throws -> (String, DiscordPortal, DiscordPortal.Bot) {
    try await dialogue.ask(
      "token", "The token:", secret: true, failure: "no token was given that Discord accepts"
    ) { answer in
      // Quotes come along when it is copied from a file.
      let token = answer.filter { $0 != "\"" && $0 != "'" }
      let portal = DiscordPortal(token: token, api: known.api, proxy: known.proxy)
      let isToken = !token.isEmpty && token.allSatisfy { $0.isASCII && !$0.isWhitespace }
      do throws(RESTError) {
        if isToken { return .good((token, portal, try await portal.bot())) }
      } catch {
        guard case .refused(status: 401, _, _) = error else { throw WireError(.internalError, error.words) }
      }
      return .again("Discord does not accept this token. Press \"Reset Token\" and copy the new one as a whole.")
    }
  }

  private func waitForIntent(_ portal: DiscordPortal, _ bot: DiscordPortal.Bot) async throws {
    var bot = bot
    for _ in 0..<Self.maximumTries where !bot.readsMessages {
      _ = try await dialogue.ask(
        "intent", "\"Message Content Intent\" is off: switch it on under \"Bot\", save, and press Enter.")
      bot = try await asked { () async throws(RESTError) in try await portal.bot() }
    }
    guard bot.readsMessages else {
      throw WireError(
        .internalError, "\"Message Content Intent\" is still off, and without it Discord lets no bot connect")
    }
  }

  private func waitForServer(_ portal: DiscordPortal, _ bot: DiscordPortal.Bot) async throws {
    try await dialogue.say(
      "4. Invite it to a server that you are in: \(DiscordPortal.invitation(of: bot.application))")
    for _ in 0..<Self.maximumTries {
      let guilds = try await asked { () async throws(RESTError) in try await portal.guilds() }
      if !guilds.isEmpty { return try await dialogue.say("It is in: \(guilds.joined(separator: ", ")).") }
      _ = try await dialogue.ask("invited", "It is in no server yet. Invite it, and press Enter.")
    }
    throw WireError(.internalError, "the bot is in no server: those who share none cannot write to each other")
  }

  private func askForChannels(_ portal: DiscordPortal) async throws -> [String] {
    try await askForIDs(
      "channels", known.channels,
      "5. Channels of servers in which it listens, as ids with commas between (Enter: direct messages only):",
      failure: "no channels were given that the bot can see"
    ) { try await areSeen($0, portal) }
  }

  /// Reports whether the bot sees all of these channels, and tells the person what the bot lacks in each.
  private func areSeen(_ channels: [String], _ portal: DiscordPortal) async throws -> Bool {
    var areSeen = true
    for channel in channels {
      let found: (channel: String, missing: [String])
      do throws(RESTError) {
        found = try await portal.missing(in: channel)
      } catch {
        guard case .refused(let status, _, _) = error, status == 403 || status == 404 else {
          throw WireError(.internalError, error.words)
        }
        areSeen = false
        try await dialogue.say("The bot sees no channel \(channel): is the id right, and is the bot in its server?")
        continue
      }
      guard !found.missing.isEmpty else { continue }
      let lacks = found.missing.joined(separator: ", ")
      try await dialogue.say("In #\(found.channel) it lacks: \(lacks). Grant them in the channel's settings.")
    }
    return areSeen
  }

  private func askForUsers(_ token: String) async throws -> [String] {
    let ids = try await askForIDs(
      "users", known.users, "6. Your id at Discord, or several with commas between (Enter: find it by a code):",
      failure: "no users were given that are ids")
    return ids.isEmpty ? [try await pair(token)] : ids
  }

  private func askForIDs(
    _ name: String, _ given: String?, _ question: String, failure: String,
    areGood: ([String]) async throws -> Bool = { _ in true }
  ) async throws -> [String] {
    try await dialogue.ask(name, question, given: given, failure: failure) { answer in
      let ids = SetupDialogue.list(answer)
      guard let wrong = ids.first(where: { !DiscordSettings.isID($0) }) else {
        return try await areGood(ids) ? .good(ids) : .again(nil)
      }
      return .again(
        "\"\(wrong)\" is no id, which has 17 to 20 digits. Switch \"Developer Mode\" on in Discord's settings "
          + "(Advanced); then right-click and \"Copy ID\".")
    }
  }

  // MARK: - Pairing

  private func pair(_ token: String) async throws -> String {
    let pairing = pairing
    let gateway = GatewayClient(
      RESTClient(.init(base: known.api ?? DiscordMessenger.defaultAPI, token: token, proxy: known.proxy)),
      resuming: nil,
      handle: { event in
        if event.name == "READY" { try await pairing.isListening() }
        if event.name == "MESSAGE_CREATE", event.data["guild_id"]?.stringValue == nil,
          let message = DiscordMessages.received(event.data, in: Conversation(id: "pairing"), me: nil)
        {
          try pairing.heard(message.text, from: message.sender)
        }
        return true
      }, log: { line in StandardError.say(line) })
    return try await pairing.run(obstacle: { await gateway.obstacle }) { try await gateway.run() }.id
  }

  private func asked<Value>(_ body: () async throws(RESTError) -> Value) async throws(WireError) -> Value {
    do { return try await body() } catch { throw WireError(.internalError, error.words) }
  }
}
