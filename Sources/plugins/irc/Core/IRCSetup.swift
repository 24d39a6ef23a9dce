internal import MessengerKit
package import PluginSDK
internal import RelayTransport

/// Leads somebody to a bot that answers, and looks whether a configuration works.
package enum IRCSetup {
  package static func run(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    var settings: [String: JSONValue] = [:]
    for name in ["proxy", "trust"] { settings[name] = known[name] }
    settings["port"] = known["port"]?.stringValue.flatMap { Int64($0) }.map { .integer($0) }
    if known["tls"]?.stringValue == "false" { settings["tls"] = false }
    for (name, question) in [
      ("server", "1. The server, as irc.libera.chat:"), ("nick", "2. The bot's nick (Enter: pi-relay):"),
      ("account", "3. The bot's account with the network's services (Enter: none):"),
    ] {
      let answer = try await dialogue.answer(name, question, known: known)
      settings[name] = answer.isEmpty ? nil : .string(answer)
    }
    var secrets: [String: String] = [:]
    if settings["account"] != nil {
      secrets["accountPassword"] = try await dialogue.ask("accountPassword", "Its password:", secret: true)
    }
    var lists: [String: [String]] = [:]
    for (name, question) in [
      ("channels", "4. Channels, with commas between (Enter: none):"),
      ("users", "5. Your account there, or nick!user@host (Enter: find it out by a code):"),
    ] { lists[name] = SetupDialogue.list(try await dialogue.answer(name, question, known: known)) }
    var users = lists["users"] ?? []
    settings["channels"] = .array((lists["channels"] ?? []).map { .string($0) })
    settings["masks"] = .array(users.filter { $0.contains("@") }.map { .string($0) })
    let config = JSONValue.object(settings.merging(secrets.mapValues { .string($0) }) { $1 })
    let connection: IRCConnection
    do { connection = try await .open(IRCSettings(checked: config)) } catch {
      throw WireError(.internalError, "\(error)")
    }
    try await dialogue.say("Connected as \(await connection.session.nick).")
    if users.isEmpty {
      users = [try await pair(dialogue, connection, known)]
      if users[0].contains("@") { settings["masks"] = [.string(users[0])] }
    }
    await connection.quit()
    return SetupReply(settings: settings, secrets: secrets, users: users)
  }

  private static func pair(
    _ dialogue: SetupDialogue, _ connection: IRCConnection, _ known: JSONValue
  ) async throws -> String {
    let pairing = Pairing(dialogue)
    let limit = known["pairingSeconds"]?.stringValue.flatMap { Int($0) } ?? Pairing.defaultLimit
    try await pairing.isListening()
    let sender = try await pairing.run(within: limit, obstacle: { nil }) {
      _ = try await connection.run { line in
        guard line.command == "PRIVMSG" else { return }
        let id = await connection.author(of: line, isPast: false)
        // A person without an account is known by the host.
        let mask = "*!\(line.source.drop { $0 != "!" }.dropFirst())"
        try pairing.heard(line.text, from: Sender(id: id.hasPrefix("unknown:") ? mask : id, name: line.nick))
      }
    }
    if sender.id.contains("@") { try await dialogue.say("You have no account here: whoever comes from there is you.") }
    return sender.id
  }

  package static func findings(_ request: CheckRequest) async -> [CheckRequest.Finding] {
    do {
      let connection = try await IRCConnection.open(IRCSettings(checked: request.config))
      let session = await connection.session
      await connection.quit()
      let keeps = session.capabilities.contains("draft/chathistory") ? "keeps" : "does not keep"
      return [.init(true, "connected as \(session.nick); the server \(keeps) what is written while the bot is away")]
    } catch {
      return [.init(false, "\(error)")]
    }
  }
}
