import FoundationEssentials
import RelayConfig
import RelayJSON
import RelayWire
import Testing

@Suite struct EnvironmentMessengersTests {
  private func load(
    file: String? = nil, yaml: String? = nil, _ environment: [String: String] = [:]
  ) throws -> ConfigReader.Loaded {
    let home = FileManager.default.temporaryDirectory.path + "/pr-env-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: home + "/.pi", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    if let file { try Data(file.utf8).write(to: URL(filePath: home + "/.pi/discord.env")) }
    if let yaml { try Data(yaml.utf8).write(to: URL(filePath: home + "/relay.yaml")) }
    return try ConfigReader(environment: environment.merging(["HOME": home]) { $1 }).load([home + "/relay.yaml"])
  }

  @Test func `the file of pidash sets up a bot, with quotes, export and CRLF`() throws {
    let file =
      "# my bot\r\nexport DISCORD_BOT_TOKEN=\"abc.def\"\r\n\r\nDISCORD_ALLOWED_USERS = '1', 2 ,,\r\nOTHER=x\r\n"
    let loaded = try load(file: file)
    let messenger = try #require(loaded.config.messengers.first)
    #expect(messenger.name == "discord/default" && messenger.settings["token"] == "abc.def")
    #expect(messenger.access.users == ["1", "2"])
    #expect(loaded.warnings.contains { $0.contains("discord.env holds a secret") })
  }

  @Test func `the environment goes before the file, relay.yaml goes before both, and agents do not see the token`()
    throws
  {
    let file = "DISCORD_BOT_TOKEN=file\nDISCORD_ALLOWED_USERS=1\n"
    let loaded = try load(file: file, ["DISCORD_BOT_TOKEN": "variable"])
    #expect(loaded.config.messengers.first?.settings["token"] == "variable")
    #expect(loaded.config.messengers.first?.access.users == ["1"])
    #expect(loaded.config.secretVariables.contains("DISCORD_BOT_TOKEN"))
    let yaml = "messengers: {discord: {default: {token: own, auth: {users: ['7']}}}}\n"
    let own = try load(file: file, yaml: yaml, ["DISCORD_BOT_TOKEN": "variable"]).config.messengers
    #expect(own.count == 1 && own[0].settings["token"] == "own" && own[0].access.users == ["7"])
  }

  @Test func `a bot that the environment sets up keeps the file's channels, proxy and auth`() throws {
    let yaml = "channels: ['123456789012345678']\nproxy: socks5h://p:1\nauth: {users: ['7']}\n"
    let environment = ["DISCORD_BOT_TOKEN": "abc", "DISCORD_ALLOWED_USERS": "1"]
    let loaded = try load(yaml: yaml, environment)
    let messenger = try #require(loaded.config.messengers.first)
    #expect(messenger.name == "discord/default" && messenger.isImplied)
    #expect(
      messenger.settings == ["token": "abc", "channels": ["123456789012345678"], "proxy": "socks5h://p:1"])
    #expect(messenger.proxy == "socks5h://p:1" && messenger.access.users == ["7"])
    #expect(loaded.places["discord/default"]?["channels.0"]?.hasSuffix("relay.yaml:1:12") == true)
    // The variable's people where the file has none.
    #expect(try load(yaml: "proxy: http://p:1\n", environment).config.messengers.first?.access.users == ["1"])
  }

  @Test func `a missing list of users admits nobody, and a missing token sets up nothing`() throws {
    #expect(try load(file: "DISCORD_BOT_TOKEN=abc\n").config.messengers.first?.access.admitsNobody == true)
    #expect(try load(file: "DISCORD_BOT_TOKEN=\nDISCORD_ALLOWED_USERS=1\n").config.messengers.isEmpty)
  }
}
