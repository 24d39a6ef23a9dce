internal import FoundationEssentials
internal import PluginSDK
internal import RelayHTTP

/// The plugin's part of relay.yaml; docs/irc.md says what each setting means.
struct IRCSettings: Decodable, Sendable {
  var server: String?
  var port: Int?
  var tls: Bool?
  var trust: String?
  var nick: String?
  var password: String?
  var account: String?
  var accountPassword: String?
  var channels: [String]?
  var masks: [String]?
  var burst: Int?
  var lineSeconds: Double?
  var proxy: String?

  var wantedNick: String { nick ?? "pi-relay" }
  /// Without keys.
  var channelNames: [String] { (channels ?? []).map { String($0.prefix { $0 != " " }) } }
  /// The answer of SASL PLAIN.
  var credentials: String { Data("\0\(account ?? "")\0\(accountPassword ?? "")".utf8).base64EncodedString() }

  var connection: LineConnection.Request {
    .init(
      host: server ?? "", port: port ?? (tls == false ? 6_667 : 6_697), usesTLS: tls != false, trust: trust,
      proxySetting: proxy, probe: "PING :alive")
  }

  /// - Throws: `ConfigurationProblems`.
  init(checked config: JSONValue) throws {
    self = try config.settings(as: Self.self)
    var problems = ConfigurationProblems()
    problems.require(server?.wholeMatch(of: /[^ \/@?#]+/) != nil, "server", "must be a host name, as irc.libera.chat")
    for (path, word) in [("nick", nick), ("account", account), ("password", password)] {
      problems.require(
        word.map { !$0.isEmpty && !$0.contains(where: \.isWhitespace) } ?? true, path, "is empty or holds blanks")
    }
    problems.require((account == nil) == (accountPassword == nil), "account", "and accountPasswordFile go together")
    // The length of one line of SASL; no server takes longer passwords.
    problems.require(credentials.utf8.count < 400, "accountPassword", "is longer than IRC takes")
    problems.require(
      connection.isPrivate || password == nil && account == nil, "tls",
      "is off, so others on the network could read the password")
    problems.require(each: channelNames, "channels", "begins with no #") {
      "#&+!".contains($0.first ?? " ") && !$0.contains(",")
    }
    problems.require(
      each: masks, "masks", "names neither a host nor a user that the server has checked", Self.isMask)
    try problems.throwIfAny()
  }

  /// Anybody takes any nick, and a user with `~` is what somebody says of themselves.
  private static func isMask(_ mask: String) -> Bool {
    guard let parts = mask.wholeMatch(of: /[^!@\s]+!([^!@\s]+)@([^!@\s]+)/)?.output else { return false }
    return parts.2.contains { !"*?.:".contains($0) } || !parts.1.contains { "*?~".contains($0) }
  }
}
