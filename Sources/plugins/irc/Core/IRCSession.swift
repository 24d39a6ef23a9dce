/// The exchange with a server, from the first line on: registration, capabilities, nick and channels. A pure value.
struct IRCSession: Sendable {
  /// https://ircv3.net/irc/ — asked for where the server has them.
  private static let wanted: Set<String> = [
    "message-tags", "server-time", "account-tag", "account-notify", "batch", "draft/chathistory", "sasl",
  ]

  let settings: IRCSettings
  private(set) var nick: String
  private(set) var isRegistered = false
  /// Nothing will come of this connection: words for the person.
  private(set) var refusal: String?
  private(set) var capabilities: Set<String> = []
  /// By channel: why it could not be joined.
  private(set) var problems: [String: String] = [:]
  private var channels: Set<String> = []
  private var offered: Set<String> = []
  /// Bytes of user and host as others see them; before the server says, as many as there can be.
  private var ownName = 74
  private var foldsBrackets = true
  private var isLoggedIn = false

  init(_ settings: IRCSettings) {
    self.settings = settings
    nick = settings.wantedNick
  }

  /// The first lines.
  var greeting: [String] {
    (settings.password.map { ["PASS :\($0)"] } ?? []) + ["CAP LS 302", "NICK \(nick)", "USER pi-relay 0 * :pi-relay"]
  }

  /// For asking whether two names are one.
  func fold(_ name: String) -> String {
    String(name.lowercased().map { foldsBrackets ? ["[": "{", "]": "}", "\\": "|", "~": "^"][$0] ?? $0 : $0 })
  }

  func isMe(_ name: String) -> Bool { fold(name) == fold(nick) }

  /// Bytes of text in one message to this target, as others get it: 512 with the end of line and this bot's name before it.
  func room(to target: String) -> Int { 510 - ":\(nick)!@ PRIVMSG \(target) :".utf8.count - ownName }

  /// Asks for missed messages, at the beginning and whenever the server asks whether the bot is there.
  private var wishes: [String] {
    let missing = (settings.channels ?? []).filter { !channels.contains(fold(String($0.prefix { $0 != " " }))) }
    return missing.map { "JOIN \($0)" } + (nick == settings.wantedNick ? [] : ["NICK \(settings.wantedNick)"])
  }

  /// - Returns: the lines to answer with.
  mutating func take(_ line: IRCLine) -> [String] {
    if isMe(line.nick), line.source.contains("@") { ownName = line.source.utf8.count - line.nick.utf8.count - 2 }
    switch line.command {
    case "PING": return ["PONG :\(line.text)"] + (isRegistered ? wishes : [])
    case "CAP": return takeCapabilities(line)
    case "AUTHENTICATE": return ["AUTHENTICATE \(settings.credentials)"]
    case "903":
      isLoggedIn = true
      return ["CAP END"]
    case "902", "904", "905", "906", "908": refusal = "the server refuses the account: \(line.text)"
    case "433" where !isRegistered, "437" where !isRegistered:
      // Nine characters are all that some servers take.
      nick = nick.count < 9 ? nick + "_" : String(nick.prefix(6)) + "\(Int.random(in: 100...999))"
      return ["NICK \(nick)"]
    case "432" where !isRegistered, "464", "465": refusal = "the server refuses the connection: \(line.text)"
    case "001":
      if settings.account != nil, !isLoggedIn { refusal = "the server offers no SASL, so the account cannot be used" }
      (nick, isRegistered) = (line[0], true)
      return wishes
    case "005": if line.parameters.contains("CASEMAPPING=ascii") { foldsBrackets = false }
    case "NICK" where isMe(line.nick): nick = line[0]
    case "JOIN" where isMe(line.nick):
      channels.insert(fold(line[0]))
      problems[fold(line[0])] = nil
    case "KICK" where isMe(line[1]), "PART" where isMe(line.nick):
      channels.remove(fold(line[0]))
      problems[fold(line[0])] = "the bot is not in \(line[0]) (\(line.text)) and joins again within minutes"
    case "403", "405", "437", "471", "473", "474", "475", "476", "477", "489":
      if settings.channelNames.contains(where: { fold($0) == fold(line[1]) }) {
        problems[fold(line[1])] = "\(line[1]) cannot be joined: \(line.text)"
      }
    default: break
    }
    return []
  }

  private mutating func takeCapabilities(_ line: IRCLine) -> [String] {
    let names = line.text.split(separator: " ").map { String($0.prefix { $0 != "=" }) }
    switch line[1] {
    case "LS":
      offered.formUnion(names)
      // A star: more of the list follows.
      if line[2] == "*" { return [] }
      let wanted = Self.wanted.intersection(offered).subtracting(settings.account == nil ? ["sasl"] : [])
      return [wanted.isEmpty ? "CAP END" : "CAP REQ :\(wanted.sorted().joined(separator: " "))"]
    case "ACK":
      capabilities.formUnion(names)
      return [names.contains("sasl") ? "AUTHENTICATE PLAIN" : "CAP END"]
    case "NAK": return ["CAP END"]
    case "DEL": capabilities.subtract(names)
    default: break
    }
    return []
  }
}
