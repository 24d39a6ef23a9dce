import RelayConfig
import RelayJSON
import RelayWire
import Testing

private func load(_ text: String, environment: [String: String] = [:]) throws -> ConfigReader.Loaded {
  try ConfigReader(environment: environment).read(Array(text.utf8), file: "relay.yaml")
}

/// The complaints about a wrong file.
private func complaints(_ text: String, environment: [String: String] = [:]) -> [String] {
  do {
    _ = try load(text, environment: environment)
    return []
  } catch let problems as ConfigProblems {
    return problems.problems.map(\.description)
  } catch {
    return ["\(error)"]
  }
}

@Suite struct ConfigTests {
  /// The example that the pi-relay extension's documentation shows.
  static let seedExample = """
    discord:
      token: "BOT_TOKEN"       # or set env DISCORD_BOT_TOKEN

    machine:
      name: "workstation"

    channels:
      - "123456789012345678"    # channel IDs this machine responds to

    auth:
      users: []                 # Discord user IDs allowed (empty = all)

    proxy: "socks5://127.0.0.1:1080"  # optional, or set HTTPS_PROXY env
    """

  @Test func `an example file of pi-relay loads unchanged`() throws {
    let config = try load(Self.seedExample).config
    #expect(config.machine.name == "workstation")
    let messenger = try #require(config.messengers.first)
    #expect(config.messengers.count == 1)
    #expect(messenger.name == "discord/default")
    #expect(messenger.access.admitsNobody)
    #expect(messenger.proxy == "socks5://127.0.0.1:1080")
    #expect(messenger.settings["token"] == "BOT_TOKEN")
    #expect(messenger.settings["channels"] == ["123456789012345678"])
  }

  @Test(arguments: ["", "# nothing\n", "---\n", "sessions:\n", "machine: ~\n"])
  func `an empty file means the defaults`(text: String) throws {
    #expect(try load(text).config == Config())
  }

  @Test func `an assistant's settings are read, and invalid ones are named`() throws {
    let config = try load(
      """
      assistant:
        owner: 42
        directory: /data
        sessionTimeoutSeconds: 600
        callTimeoutSeconds: 0
        sweepSeconds: 0
        heartbeatSeconds: 3600
        workers: 2
      messengers: {discord: {default: {conversations: {channel: {use: assistant}, "7": {use: assistant, mention: false}}}}}
      """
    ).config
    #expect(config.assistant.owner == "42")
    #expect(config.assistant.sessionTimeout == .seconds(600))
    #expect(config.assistant.callTimeout == nil && config.assistant.sweepInterval == nil)
    #expect(config.assistant.healthInterval == .seconds(60))
    #expect(config.assistant.workers == 2 && config.assistant.maximumQueued == 1_000)
    let messenger = try #require(config.messengers.first)
    #expect(messenger.settings(of: Conversation(id: "1", kind: .channel)).mention == true)
    #expect(messenger.settings(of: Conversation(id: "7", kind: .channel)).mention == false)
    #expect(messenger.settings(of: Conversation(id: "1", kind: .dm)).mention == false)
    #expect(
      complaints("assistant: {workers: true, maximumQueued: 0, callTimeoutSeconds: -1, data_dir: /x}") == [
        "relay.yaml:1:22: workers: expected a whole number from 1 to 1000",
        "relay.yaml:1:43: maximumQueued: expected a whole number from 1 to 1000000",
        "relay.yaml:1:66: callTimeoutSeconds: expected a whole number from 0 to 100000000",
        "relay.yaml:1:70: unknown key \"data_dir\" in assistant",
      ])
  }

  @Test func `the level of the log is one of five, info by default`() throws {
    #expect(try load("logging: {keep: 2}").config.logging.level == .info)
    #expect(try load("logging: {level: warning}").config.logging.level == .warning)
    #expect(
      complaints("logging:\n  level: verbose\n")
        == ["relay.yaml:2:10: level: expected one of debug, info, notice, warning, error"])
  }

  @Test func `patterns for redaction are regular expressions`() throws {
    let config = try load("delivery: {redact: [usual, 'ACME-[0-9]{6}']}").config
    #expect(config.delivery.redact == ["usual", "ACME-[0-9]{6}"])
    #expect(
      complaints("delivery:\n  redact: [usual, '(', '']\n") == [
        "relay.yaml:2:19: redact: \"(\" is no regular expression",
        "relay.yaml:2:24: redact: \"\" is no regular expression",
      ])
    #expect(complaints("delivery: {redact: usual}").count == 1)
    #expect(try load("delivery: {attempts: 3}").config.delivery.redact == ["usual"])
    #expect(try load("delivery: {redact: []}").config.delivery.redact == [])
  }

  @Test func `several instances have lists of access of their own`() throws {
    let config = try load(
      """
      auth: {users: [1]}
      messengers:
        echo:
          one: {output: final, busy: steer}
          two: {auth: {roles: [admin]}, images: automatic, enabled: false, speed: 3}
      """
    ).config
    #expect(config.messengers.map(\.name) == ["echo/one", "echo/two"])
    #expect(config.messengers[0].access.users == ["1"])
    #expect(config.messengers[0].output == .final)
    #expect(config.messengers[0].busy == .steer)
    #expect(config.messengers[1].access.users.isEmpty)
    #expect(config.messengers[1].access.roles == ["admin"])
    #expect(!config.messengers[1].enabled)
    #expect(config.messengers[1].settings["speed"] == 3)
  }

  @Test func `unknown keys are reported with their place and a suggestion`() {
    #expect(
      complaints("sessions:\n  maximun: 3\n")
        == ["relay.yaml:2:3: unknown key \"maximun\" in sessions (did you mean \"maximum\"?)"])
    #expect(
      complaints("sesions:\n  maximum: 3\n") == ["relay.yaml:1:1: unknown key \"sesions\" (did you mean \"sessions\"?)"]
    )
    #expect(complaints("frobnicate: 3\n") == ["relay.yaml:1:1: unknown key \"frobnicate\""])
  }

  @Test func `an empty messenger is reported with the expected settings`() throws {
    let example = #"tokenFile: PATH, auth: {users: ["ID"]}, channels: ["ID"]"#
    #expect(
      complaints("machine: {name: x}\ndiscord:\n  # token: x\n") == [
        "relay.yaml:2:1: discord: it is empty; write a messenger's settings there, such as \(example), or delete "
          + "the line"
      ])
    #expect(complaints("sesions:\n") == ["relay.yaml:1:1: unknown key \"sesions\" (did you mean \"sessions\"?)"])
    let loaded = try load("messengers:\n  discord:\n")
    #expect(loaded.config.messengers.isEmpty)
    #expect(
      loaded.warnings == [
        "relay.yaml:2:3: messengers.discord: it has no instance, so no messenger is set up; add one, "
          + "such as default: {\(example)}"
      ])
  }

  @Test func `a messenger's own proxy goes before the file's`() throws {
    let config = try load(
      "proxy: http://all:1\nmessengers: {discord: {one: {proxy: 'socks5://own:1'}, two: {}, three: {proxy: ''}}}\n"
    ).config
    #expect(config.messengers.map(\.proxy) == ["socks5://own:1", "http://all:1", ""])
    #expect(config.messengers.map { $0.settings["proxy"] } == ["socks5://own:1", "http://all:1", ""])
  }

  @Test(arguments: [
    ("discord: {channels: [234567890123456789]}", "1:22", "channels.0", "234567890123456789"),
    ("channels:\n  - '1'\n  - 42\ndiscord: {token: t}", "3:5", "channels.1", "42"),
    ("messengers: {chat: {one: {channels: [true]}}}", "1:38", "channels.0", "true"),
    ("messengers: {chat: {one: {rooms: {owner: 234567890123456789}}}}", "1:42", "rooms.owner", "234567890123456789"),
    ("messengers: {chat: {one: {owner: 99999999999999999999}}}", "1:34", "owner", "99999999999999999999"),
    ("messengers: {chat: {one: {owner: -9007199254740993}}}", "1:34", "owner", "-9007199254740993"),
    ("plugins: {notes: {room: 234567890123456789}}", "1:25", "room", "234567890123456789"),
  ])
  func `an id without quotes is refused with its place and the right spelling`(
    text: String, place: String, path: String, id: String
  ) {
    #expect(complaints(text) == ["relay.yaml:\(place): \(path): put it in quotes: \"\(id)\""])
  }

  @Test func `a secret without quotes is not repeated`() {
    let text = "messengers: {chat: {one: {token: 99999999999999999999}}}"
    #expect(complaints(text) == ["relay.yaml:1:34: token: put it in quotes"])
  }

  @Test func `numbers that every reader keeps and ids of people need no quotes`() throws {
    let text = """
      messengers: {chat: {one: {port: 65535, large: -9007199254740991, rate: 0.5, auth: {users: [234567890123456789]}}}}
      assistant: {owner: 234567890123456789}
      """
    let config = try load(text).config
    #expect(config.messengers[0].access.users == ["234567890123456789"])
    #expect(config.assistant.owner == "234567890123456789")
  }

  @Test(arguments: [
    ("ftp://proxy:1", "the scheme ftp is not supported; use http, https, socks4, socks5 or socks5h"),
    ("http://", "there is no host in it; write it like http://proxy.example:3128"),
    ("socks5://ann:secret@:1080", "there is no host in it; write it like http://proxy.example:3128"),
    ("http://proxy:port", "the port is not a number from 1 to 65535"),
    ("http://[::1]:0", "the port is not a number from 1 to 65535"),
    ("http://pro xy:1", "there are blanks or control characters in it"),
  ])
  func `a proxy that cannot be used is refused with its line, at the top and in an instance`(
    url: String, problem: String
  ) {
    #expect(complaints("proxy: '\(url)'\n") == ["relay.yaml:1:8: proxy: \(problem)"])
    #expect(complaints("discord:\n  proxy: '\(url)'\n") == ["relay.yaml:2:10: proxy: \(problem)"])
  }

  @Test(arguments: [
    "", "HTTP://p", "https://p:1", "socks4://p:1", "socks5://[::1]:1080/", "socks5h://a:b@p:1", "p:3128", "p",
  ])
  func `a usable proxy is taken as it is written`(url: String) throws {
    #expect(try load("discord: {proxy: '\(url)'}\n").config.messengers.first?.proxy == url)
  }

  @Test func `all problems are found at once, in the order of the file`() {
    let found = complaints("pi:\n  arguments: no-list\nsessions:\n  maximum: many\n  leftovers: burn\n")
    #expect(
      found == [
        "relay.yaml:2:14: arguments: expected a list, found a single value; write it as [a, b] or with dashes",
        "relay.yaml:4:12: maximum: expected a whole number from 1 to 1000",
        "relay.yaml:5:14: leftovers: expected one of kill, keep",
      ])
  }

  @Test(arguments: [
    ("a: b: c\n", "relay.yaml:1:5:"), ("a: [1\n", "relay.yaml:2:1:"), ("a: 1\na: 2\n", "relay.yaml:2:1:"),
    ("a: &x 1\nb: *x\n", "relay.yaml:2:4:"), ("\tx: 1\n", "relay.yaml:1:1:"), ("a: 1\n---\nb: 2\n", "relay.yaml:2:1:"),
  ])
  func `invalid or too large YAML is reported with its place`(text: String, place: String) {
    #expect(complaints(text).first?.hasPrefix(place) == true, "\(complaints(text))")
  }

  @Test(arguments: [
    ("sessions:\n\tdirectory: /x\n", "2:1: a tab cannot indent a line of YAML; use spaces"),
    ("sessions:\n  maximum: 1\n \tdirectory: /x\n", "3:2: a tab cannot indent a line of YAML; use spaces"),
    (
      "a:\n  - [1\nb: 2\n",
      "3:2: did not find expected ',' or ']' (while parsing a flow sequence that begins in line 2)"
    ),
    ("a: 'one\n", "2:1: found unexpected end of stream (while scanning a quoted scalar that begins in line 1)"),
  ])
  func `a mistake of form is told with its cause`(text: String, problem: String) {
    #expect(complaints(text) == ["relay.yaml:\(problem)"])
  }

  @Test(arguments: [
    ("pi: [1]\n", "1:5: pi: expected a group of settings, as in NAME: VALUE, found a list"),
    (
      "messengers: {chat: {one: {conversations: {dm: main}}}}\n",
      "1:47: chat.one.conversations.dm: expected a group of settings, as in NAME: VALUE, found a single value"
    ),
    (
      "messengers: {chat: {one: {auth: [42]}}}\n",
      "1:33: chat.one.auth: expected a group of settings, as in NAME: VALUE, found a list"
    ),
    ("hello\n", "1:1: expected a group of settings, as in NAME: VALUE, found a single value"),
    (
      "messengers:\n  chat:\n    token: abc\n",
      "3:5: messengers.chat.token: a messenger's settings stand under an instance of it, as in default: {token: …}"
    ),
  ])
  func `a value where settings belong is refused with its path`(text: String, problem: String) {
    #expect(complaints(text) == ["relay.yaml:\(problem)"])
  }

  @Test func `deep nesting is refused, not followed`() {
    let text = String(repeating: "[", count: 10_000)
    #expect(complaints(text).count == 1)
  }

  @Test func `secrets are read from the environment or a file, and agents do not see the variable`() throws {
    let loaded = try load("discord:\n  tokenEnv: MY_TOKEN\n", environment: ["MY_TOKEN": "s3cret"])
    #expect(loaded.config.messengers[0].settings["token"] == "s3cret")
    #expect(loaded.config.secretVariables == ["MY_TOKEN"])
    #expect(
      complaints("discord:\n  tokenEnv: MY_TOKEN\n")
        == ["relay.yaml:2:13: tokenEnv: the environment variable MY_TOKEN is not set"])
    #expect(
      complaints("discord:\n  tokenFile: /nonexistent/token\n")
        == ["relay.yaml:2:14: tokenFile: /nonexistent/token cannot be read: No such file or directory"])
    #expect(complaints("discord:\n  tokenFile: /proc\n") == ["relay.yaml:2:14: tokenFile: /proc is no file"])
  }

  @Test func `references to secrets are resolved at any depth, for services too`() throws {
    let loaded = try load(
      "plugins:\n  echo:\n    bot: {apiTokenEnv: A}\nmessengers:\n  chat:\n    one: {account: {passwordEnv: B}}\n",
      environment: ["A": "1", "B": "2"])
    #expect(loaded.config.plugins["echo"]?.settings["bot"] == ["apiToken": "1"])
    #expect(loaded.config.messengers[0].settings["account"] == ["password": "2"])
    #expect(loaded.config.secretVariables == ["A", "B"])
    #expect(try load("plugins: {echo: {bot: {secret: x}}}").config.plugins["echo"]?.hasLiteralSecret == true)
    #expect(complaints("plugins: {echo: {bot: {tokenEnv: NO}}}\n").count == 1)
  }

  @Test func `the place of a plugin's setting can be named`() throws {
    let loaded = try load("messengers:\n  echo:\n    one:\n      speed:\n        low: 1\n")
    #expect(loaded.places["echo/one"]?["speed.low"] == "relay.yaml:5:14")
  }

  @Test func `the time of a pairing's code has bounds`() throws {
    func read(_ text: String) throws -> Config {
      try ConfigReader(environment: [:]).read(Array(text.utf8), file: "relay.yaml").config
    }
    #expect(try read("pairing: {expirySeconds: 30}").pairing.expiry == .seconds(30))
    for wrong in ["29", "3601", "soon"] {
      #expect(throws: ConfigProblems.self) { try read("pairing: {expirySeconds: \(wrong)}") }
    }
    #expect(throws: ConfigProblems.self) { try read("pairing: {expiry: 60}") }
  }
}
