internal import MessengerKit
package import PluginSDK

// Leads somebody to a bot that answers, and looks whether a configuration works.
extension IRCMessenger {
  package static func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    var answers = GatheredSettings(dialogue, known: known)
    for name in ["proxy", "trust"] { answers.take(name) }
    answers.take("port") { Int64($0).map { .integer($0) } }
    answers.take("tls") { $0 == "false" ? false : nil }
    try await answers.ask("server", "1. The server, as irc.libera.chat:")
    try await answers.ask("nick", "2. The bot's nick (Enter: pi-relay):")
    try await answers.ask("account", "3. The bot's account with the network's services (Enter: none):")
    if answers.settings["account"] != nil { try await answers.askSecret("accountPassword", "Its password:") }
    let channels = try await answers.list("channels", "4. Channels, with commas between (Enter: none):")
    var users = try await answers.list(
      "users", "5. Your account there, or nick!user@host (Enter: find it by a code):")
    answers.settings["channels"] = .array(channels.map { .string($0) })
    answers.settings["masks"] = masks(in: users)
    let connection = try await IRCConnection.open(IRCSettings(checked: answers.config))
    try await dialogue.say("Connected as \(await connection.session.nick).")
    if users.isEmpty {
      users = [try await pair(dialogue, connection, known)]
      answers.settings["masks"] = masks(in: users)
    }
    await connection.quit()
    return answers.reply(users: users)
  }

  private static func masks(in users: [String]) -> JSONValue {
    .array(users.filter { $0.contains("@") }.map { .string($0) })
  }

  private static func pair(
    _ dialogue: SetupDialogue, _ connection: IRCConnection, _ known: JSONValue
  ) async throws -> String {
    let pairing = Pairing(dialogue, known: known)
    try await pairing.isListening()
    let sender = try await pairing.run {
      _ = try await connection.run { line in
        guard line.command == "PRIVMSG" else { return }
        let id = await connection.author(of: line, isPast: false)
        // A person without an account is known by the host.
        let mask = "*!\(line.source.drop { $0 != "!" }.dropFirst())"
        try pairing.heard(line.text, from: Sender(id: id.hasPrefix("unknown:") ? mask : id, name: line.nick))
      }
    }
    if sender.id.contains("@") { try await dialogue.say("You have no account here: anyone from there counts as you.") }
    return sender.id
  }

  package static func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    let connection = try await IRCConnection.open(IRCSettings(checked: request.config))
    let session = await connection.session
    await connection.quit()
    let keeps = session.capabilities.contains("draft/chathistory") ? "keeps" : "does not keep"
    return [.init(true, "connected as \(session.nick); the server \(keeps) what is written while the bot is away")]
  }
}
