internal import FoundationEssentials
internal import Glibc
internal import RelayJSON
internal import RelayWire

/// relay.yaml → `Config`.
package struct ConfigReader: Sendable {
  private let environment: [String: String]

  package init(environment: [String: String]) {
    self.environment = environment
  }

  package struct Loaded: Sendable, Equatable {
    package var config: Config
    /// `nil` where there is no file, and the defaults hold.
    package var path: String?
    package var warnings: [String] = []
    /// The place of each setting of a plugin instance: instance → dotted path → `relay.yaml:3:5`.
    package var places: [String: [String: String]] = [:]
    /// The file's defaults and their places, for an instance that the environment alone sets up.
    package internal(set) var implied: Config.Messenger = {
      var messenger = Config.Messenger(kind: "", instance: "default")
      messenger.isImplied = true
      return messenger
    }()
    var impliedPlaces: [String: String] = [:]
  }

  package struct Unreadable: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// Reads the first of the candidates that exists.
  package func load(_ candidates: [String]) throws -> Loaded {
    guard let path = candidates.first(where: Self.isThere) else {
      return completed(Loaded(config: Config(), path: nil))
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Unreadable(description: "\(path) cannot be read; check its permissions")
    }
    var loaded = try read([UInt8](data), file: path)
    loaded.path = path
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & 0o077 != 0, holdsSecret(loaded.config) {
      loaded.warnings.append("\(path) holds a secret and others may read it; run: chmod 600 \(path)")
    }
    return completed(loaded)
  }

  private func completed(_ loaded: Loaded) -> Loaded {
    var loaded = loaded
    EnvironmentMessengers(environment).apply(to: &loaded)
    return loaded
  }

  /// Looks for anything of that name: a link that leads nowhere was meant to be a configuration.
  private static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR)
  }

  private func holdsSecret(_ config: Config) -> Bool {
    config.messengers.contains(where: \.hasLiteralSecret) || config.plugins.values.contains(where: \.hasLiteralSecret)
  }

  static func isSecret(_ key: String) -> Bool {
    let key = key.lowercased()
    return ["token", "secret", "password"].contains { key.hasSuffix($0) }
  }

  /// Reads the text of a file. All problems are found in one go.
  package func read(_ bytes: [UInt8], file: String) throws -> Loaded {
    let root: YAMLNode?
    do {
      root = try YAMLReader.read(bytes)
    } catch {
      throw ConfigProblems(problems: [ConfigProblem(file: file, mark: error.mark, message: error.message)])
    }
    let context = SettingsReader.Context(file: file)
    var loaded = Loaded(config: Config(), path: file)
    read(SettingsReader(root, context), context, &loaded)
    loaded.warnings = context.warnings
    guard context.problems.isEmpty else {
      throw ConfigProblems(
        problems: context.problems.sorted { ($0.mark.line, $0.mark.column) < ($1.mark.line, $1.mark.column) })
    }
    return loaded
  }

  private func read(_ root: SettingsReader, _ context: SettingsReader.Context, _ loaded: inout Loaded) {
    Self.readMachine(root.group("machine"), &loaded.config)
    Self.readPi(root.group("pi"), &loaded.config)
    Self.readSessions(root.group("sessions"), &loaded.config)
    loaded.config.assistant = Config.Assistant(root.group("assistant"))
    loaded.config.approvals = Config.Approvals(root.group("approvals"), context)
    let pairing = root.group("pairing")
    if let value = pairing.integer("expirySeconds", in: Config.Pairing.expiries) {
      loaded.config.pairing.expiry = .seconds(value)
    }
    pairing.refuseRest("pairing")
    Self.readRest(root, &loaded.config)
    let secrets = SecretReader(environment: environment, context: context)
    var reader = MessengerReader(secrets: secrets, context: context, defaults: root)
    let messengers = root.group("messengers")
    for kind in messengers.entries {
      if kind.value.isNull {
        context.warnings.append(
          "\(context.file):\(kind.mark): messengers.\(kind.key): it has no instance, so no messenger is set up; add one, "
            + "such as default: {\(Self.exampleSettings)}")
      }
      let instances = messengers.group(kind.key)
      for instance in instances.entries {
        reader.read(kind: kind.key, instance: instance.key, instances.node(instance.key), mark: instance.mark)
      }
    }
    let plugins = root.group("plugins")
    for plugin in plugins.entries { Self.readPlugin(plugin.key, plugins.group(plugin.key), secrets, context, &loaded) }
    readShorthands(root, &reader, context)
    loaded.config.messengers = reader.messengers
    loaded.implied = reader.implied
    loaded.impliedPlaces = reader.impliedPlaces
    loaded.config.secretVariables = secrets.variables
    loaded.places.merge(reader.places) { first, _ in first }
    root.refuseRest("")
  }

  /// A top-level group that is no section of ours is a messenger kind: its settings are those of `default`.
  private func readShorthands(
    _ root: SettingsReader, _ reader: inout MessengerReader, _ context: SettingsReader.Context
  ) {
    let sections = [
      "machine", "pi", "sessions", "assistant", "approvals", "pairing", "messengers", "plugins", "restart", "logging",
      "shutdown",
      "delivery", "auth", "channels", "storage", "bridge",
    ]
    for entry in root.rest where Spelling.nearest(to: entry.key, in: sections) == nil {
      if case .mapping = entry.value {
        reader.read(kind: entry.key, instance: "default", root.node(entry.key), mark: entry.mark)
      } else if entry.value.isNull {
        _ = root.node(entry.key)
        context.complain(
          entry.mark,
          "\(entry.key): it is empty; write a messenger's settings there, such as \(Self.exampleSettings), or delete "
            + "the line")
      }
    }
  }

  private static let exampleSettings = #"tokenFile: PATH, auth: {users: ["ID"]}, channels: ["ID"]"#

  private static func readMachine(_ group: SettingsReader, _ config: inout Config) {
    config.machine.name = group.string("name")
    group.refuseRest("machine")
  }

  private static func readPi(_ group: SettingsReader, _ config: inout Config) {
    config.pi.executable = group.string("executable").map(expandTilde)
    config.pi.arguments = group.strings("arguments") ?? []
    config.pi.model = group.string("model")
    config.pi.provider = group.string("provider")
    config.pi.environment = group.stringMap("environment") ?? [:]
    switch group.string("extension") {
    case nil: break
    case "off", "false", "no": config.pi.loadsExtension = false
    default: config.pi.extensionFolder = group.path("extension")
    }
    if let seconds = group.integer("answerTimeoutSeconds", in: 1...3_600) {
      config.pi.answerTimeout = .seconds(seconds)
    }
    group.refuseRest("pi")
  }

  private static func readSessions(_ group: SettingsReader, _ config: inout Config) {
    config.sessions.directory = group.string("directory").map(expandTilde)
    if let number = group.integer("maximum", in: 1...1_000) { config.sessions.maximum = number }
    if let number = group.integer("maximumStarting", in: 1...100) { config.sessions.maximumStarting = number }
    if let minutes = group.integer("idleTimeoutMinutes", in: 0...100_000) {
      config.sessions.idleTimeout = minutes == 0 ? nil : .seconds(minutes * 60)
    }
    if let seconds = group.integer("callTimeoutSeconds", in: 0...1_000_000) {
      config.sessions.callTimeout = seconds == 0 ? nil : .seconds(seconds)
    }
    if let seconds = group.integer("silenceTimeoutSeconds", in: 0...1_000_000) {
      config.sessions.silenceTimeout = seconds == 0 ? nil : .seconds(seconds)
    }
    if let seconds = group.integer("questionTimeoutSeconds", in: 0...10_000_000) {
      config.sessions.questionTimeout = seconds == 0 ? nil : .seconds(seconds)
    }
    if let value = group.flag("agentsReachOthers") { config.sessions.agentsReachOthers = value }
    if let leftovers = group.choice("leftovers", Config.Sessions.Leftovers.self) {
      config.sessions.leftovers = leftovers
    }
    if let number = group.integer("maximumQueued", in: 1...100_000) { config.sessions.maximumQueued = number }
    config.sessions.roots = (group.strings("roots") ?? []).map(expandTilde)
    group.refuseRest("sessions")
  }

  private static func readRest(_ root: SettingsReader, _ config: inout Config) {
    let restart = root.group("restart")
    if let value = restart.integer("firstDelayMilliseconds", in: 0...60_000) {
      config.restart.firstDelay = .milliseconds(value)
    }
    if let value = restart.integer("longestDelaySeconds", in: 1...86_400) {
      config.restart.maximumDelay = .seconds(value)
    }
    if let value = restart.integer("failingCount", in: 1...1_000_000) { config.restart.failingCount = value }
    if let value = restart.integer("failingWindowSeconds", in: 1...86_400) {
      config.restart.failingWindow = .seconds(value)
    }
    restart.refuseRest("restart")
    let logging = root.group("logging")
    if let value = logging.choice("level", Config.Logging.Level.self) { config.logging.level = value }
    if let value = logging.integer("maximumMegabytes", in: 1...10_000) { config.logging.maximumBytes = value << 20 }
    if let value = logging.integer("keep", in: 0...1_000) { config.logging.keep = value }
    logging.refuseRest("logging")
    let shutdown = root.group("shutdown")
    if let value = shutdown.integer("drainSeconds", in: 0...3_600) { config.shutdown.drain = .seconds(value) }
    if let value = shutdown.flag("tellConversations") { config.shutdown.tellsConversations = value }
    shutdown.refuseRest("shutdown")
    let delivery = root.group("delivery")
    if let value = delivery.integer("attempts", in: 1...1_000) { config.delivery.attempts = value }
    if let value = delivery.flag("tellConversations") { config.delivery.tellsConversations = value }
    if let patterns = delivery.patterns("redact") { config.delivery.redact = patterns }
    delivery.refuseRest("delivery")
    let storage = root.group("storage")
    if let value = storage.number("keepDays", in: 0.001...3_650) { config.storage.keep = .seconds(value * 86_400) }
    storage.refuseRest("storage")
    readBridge(root.group("bridge"), &config.bridge)
  }

  /// The keys have the names that other bridges of the protocol gave them.
  private static func readBridge(_ group: SettingsReader, _ bridge: inout Config.Bridge) {
    if let value = group.flag("enabled") { bridge.enabled = value }
    bridge.directory = group.path("directory")
    if let value = group.integer("historyLimit", in: 1...100_000) { bridge.historyLimit = value }
    if let value = group.integer("maxEventBytes", in: 256...(1 << 20)) { bridge.maximumEventBytes = value }
    if let value = group.integer("maxHistoryResponseBytes", in: 1_024...(64 << 20)) {
      bridge.maximumHistoryResponseBytes = value
    }
    if let value = group.integer("eventPreviewBytes", in: 0...(64 << 10)) { bridge.previewBytes = value }
    if let value = group.flag("spillRawEvents") { bridge.keepsWholeEvents = value }
    if let value = group.integer("maxRawSpillBytes", in: (64 << 10)...(1 << 30)) { bridge.maximumFileBytes = value }
    if let value = group.integer("maxLineBytes", in: 1_024...(64 << 20)) { bridge.maximumLineBytes = value }
    if let value = group.integer("heartbeatMs", in: 0...86_400_000) {
      bridge.heartbeat = value == 0 ? nil : .milliseconds(value)
    }
    group.refuseRest("bridge")
  }

  private static func readPlugin(
    _ name: String, _ group: SettingsReader, _ secrets: SecretReader, _ context: SettingsReader.Context,
    _ loaded: inout Loaded
  ) {
    var plugin = Config.Plugin()
    plugin.enabled = group.flag("enabled") ?? true
    let own = secrets.resolve(group.rest)
    plugin.settings = .object(own.settings)
    plugin.hasLiteralSecret = own.hasLiteral
    for entry in group.rest {
      context.refuseUnquotedIDs(entry.key, entry.value, isChannels: false)
      for (path, mark) in entry.value.places(entry.key) {
        loaded.places[name, default: [:]][path] = "\(loaded.path ?? "relay.yaml"):\(mark)"
      }
    }
    loaded.config.plugins[name] = plugin
  }

  static func expandTilde(_ path: String) -> String {
    guard path == "~" || path.hasPrefix("~/") else { return path }
    return FileManager.default.homeDirectoryForCurrentUser.path + path.dropFirst()
  }
}
