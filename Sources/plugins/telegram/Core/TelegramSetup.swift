internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Leads somebody from @BotFather to a bot that answers.
struct TelegramSetup: Sendable {
  private let dialogue: SetupDialogue
  private let known: JSONValue

  init(_ dialogue: SetupDialogue, known: JSONValue) {
    self.dialogue = dialogue
    self.known = known
  }

  func run() async throws -> SetupReply {
    var answers = GatheredSettings(dialogue, known: known)
    for name in ["baseURL", "proxy"] { answers.take(name) }
    try await dialogue.say(
      """
      1. Open Telegram and write to @BotFather (https://t.me/BotFather): /newbot
      2. Give it a name, and a user name that ends in "bot".
      3. Copy the token from its answer, which looks like 123456789:ABC-DEF_ghi.
      """)
    let (token, api, user) = try await askForToken(answers.settings)
    guard let me = Me(user) else { throw WireError(.internalError, "Telegram did not say which bot this is") }
    try await dialogue.say("This is the bot @\(me.name).")
    try await removeWebhook(api)
    try await dialogue.say(TelegramCheck.privacy(user).text)
    var users = try await answers.list(
      "users", "4. Your id at Telegram, or several with commas between (Enter: find it by a code):")
    for user in users where Int(user) == nil {
      throw WireError(
        .internalError, "\"\(user)\" is no id, which is a number: a user name can be given to somebody else")
    }
    if users.isEmpty { users = [try await pair(api, me)] }
    return SetupReply(settings: answers.settings, secrets: ["token": token], users: users)
  }

  private func askForToken(_ settings: [String: JSONValue]) async throws -> (String, BotAPI, JSONValue) {
    try await dialogue.ask(
      "token", "The token:", secret: true, failure: "no token was given that Telegram accepts"
    ) { answer in
      // Quotes come along when it is copied from a file.
      let token = answer.filter { $0 != "\"" && $0 != "'" }
      guard TelegramSettings.isToken(token) else {
        return .again("That is none: a token looks like 123456789:ABC-DEF_ghi. Copy all of it.")
      }
      let api = BotAPI(try TelegramSettings(checked: .object(settings.merging(["token": .string(token)]) { $1 })))
      do throws(RESTError) {
        return .good((token, api, try await api.ask("getMe", credential: .probed)))
      } catch {
        guard error.isOfToken else { throw WireError(.internalError, error.words) }
        return .again("Telegram does not accept this token. Ask @BotFather for it again with /token.")
      }
    }
  }

  /// A bot with a webhook gets its messages there, and never by polling.
  private func removeWebhook(_ api: BotAPI) async throws {
    let url =
      try await asked { () async throws(RESTError) in try await api.ask("getWebhookInfo") }["url"]?.stringValue ?? ""
    guard !url.isEmpty else { return }
    let answer = try await dialogue.answer(
      "webhook", "Another program gets this bot's messages by a webhook. Remove it, so that they come here? (yes/no)",
      known: known)
    guard ["y", "yes"].contains(answer.lowercased()) else {
      throw WireError(.internalError, "with a webhook the bot hears nothing here: make another bot with /newbot")
    }
    // Messages that wait are kept.
    _ = try await asked { () async throws(RESTError) in
      try await api.ask("deleteWebhook", ["drop_pending_updates": false])
    }
    try await dialogue.say("The webhook is removed.")
  }

  private func asked(_ body: () async throws(RESTError) -> JSONValue) async throws(WireError) -> JSONValue {
    do { return try await body() } catch { throw WireError(.internalError, error.words) }
  }

  // MARK: - Pairing

  private static let pollLimit = 100

  private func pair(_ api: BotAPI, _ me: Me) async throws -> String {
    let pairing = Pairing(dialogue, known: known) { "https://t.me/\(me.name)?start=\($0)" }
    let obstacle = Locked<String?>(nil)
    return try await pairing.run(obstacle: { obstacle.withLock { $0 } }) {
      var offset: Int64 = 0
      while true {
        let updates: [JSONValue]
        do throws(RESTError) {
          updates = try await Self.poll(api, offset)
        } catch {
          if error.isOfToken { throw WireError(.internalError, error.words) }
          obstacle.withLock { $0 = error.words }
          StandardError.say(error.words)
          try await LoopClock.shared.sleep(for: .seconds(2))
          continue
        }
        try await pairing.isListening()
        for (index, update) in updates.enumerated() {
          do { try Self.hear(update["message"], pairing) } catch {
            // The daemon need not see it, where nothing but the client's own first words waits before it. A failure does no harm.
            let isFirst = updates.prefix(index).allSatisfy {
              $0["message"]?["text"]?.stringValue?.hasPrefix("/start") == true
            }
            if isFirst, let id = update["update_id"]?.integerValue { _ = try? await Self.poll(api, id + 1, seconds: 0) }
            throw error
          }
        }
        // Waiting messages are the daemon's, and stay unconfirmed as long as the code may come behind them.
        if updates.count == Self.pollLimit { offset = (updates.last?["update_id"]?.integerValue ?? 0) + 1 }
        if !updates.isEmpty { try await LoopClock.shared.sleep(for: .milliseconds(500)) }
      }
    }.id
  }

  private static func poll(_ api: BotAPI, _ offset: Int64, seconds: Int64 = 5) async throws(RESTError) -> [JSONValue] {
    var parameters: [String: JSONValue] = [
      "timeout": .integer(seconds), "limit": .integer(Int64(pollLimit)),
      "allowed_updates": TelegramMessenger.updateKinds,
    ]
    if offset > 0 { parameters["offset"] = .integer(offset) }
    return try await api.ask("getUpdates", parameters, isRepeatable: false, credential: .probed).list
  }

  /// The link makes the person's client write the code behind a command.
  private static func hear(_ message: JSONValue?, _ pairing: Pairing) throws {
    guard message?["chat"]?["type"]?.stringValue == "private", let text = message?["text"]?.stringValue,
      let sender = TelegramMessages.sender(message?["from"])
    else { return }
    try pairing.heard(text.hasPrefix("/start ") ? String(text.dropFirst(7)) : text, from: sender)
  }
}
