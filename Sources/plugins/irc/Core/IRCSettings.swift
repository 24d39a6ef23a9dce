internal import FoundationEssentials
internal import PluginSDK
internal import RelayHTTP

/// The plugin's part of relay.yaml; docs/irc.md says what each setting means.
struct IRCSettings: Decodable, Sendable {
  var server: String
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

  var usesTLS: Bool { tls ?? true }
  var wantedNick: String { nick ?? "pi-relay" }
  /// Without keys.
  var channelNames: [String] { (channels ?? []).map { String($0.prefix { $0 != " " }) } }
  /// The answer of SASL PLAIN.
  var credentials: String { Data("\0\(account ?? "")\0\(accountPassword ?? "")".utf8).base64EncodedString() }

  var connection: LineConnection.Request {
    var request = LineConnection.Request(host: server, port: port ?? (usesTLS ? 6_697 : 6_667), usesTLS: usesTLS)
    request.trust = trust
    request.probe = "PING :alive"
    request.proxy = ProxyRules(setting: proxy).proxy(for: request.url)?.url
    return request
  }

  /// - Throws: `ConfigurationProblems`.
  init(checked config: JSONValue) throws {
    self = try config.settings(as: Self.self)
    var problems: [ConfigurationProblem] = []
    func require(_ isGood: Bool, _ path: String, _ message: String) {
      if !isGood { problems.append(.init(path: path, message: message)) }
    }
    require(!server.isEmpty && !server.contains { " /@?#".contains($0) }, "server", "is no name of a server")
    for (path, word) in [("nick", nick), ("account", account), ("password", password)] {
      require(word.map { !$0.isEmpty && !$0.contains(where: \.isWhitespace) } ?? true, path, "is empty or holds blanks")
    }
    require((account == nil) == (accountPassword == nil), "account", "and accountPasswordFile go together")
    // One line of SASL; no server has longer passwords.
    require(credentials.utf8.count < 400, "accountPassword", "is longer than IRC takes")
    let isSafe = usesTLS || ["localhost", "127.0.0.1", "[::1]"].contains(server)
    require(isSafe || password == nil && account == nil, "tls", "is off: everybody on the way could read the password")
    for (index, name) in channelNames.enumerated() {
      require("#&+!".contains(name.first ?? " ") && !name.contains(","), "channels.\(index)", "begins with no #")
    }
    for (index, mask) in (masks ?? []).enumerated() {
      require(Self.isMask(mask), "masks.\(index)", "names neither a host nor a user that the server has checked")
    }
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
  }

  /// Anybody takes any nick, and a user with `~` is what somebody says of themselves.
  private static func isMask(_ mask: String) -> Bool {
    guard let parts = mask.wholeMatch(of: /[^!@\s]+!([^!@\s]+)@([^!@\s]+)/)?.output else { return false }
    return parts.2.contains { !"*?.:".contains($0) } || !parts.1.contains { "*?~".contains($0) }
  }
}
