internal import RelayJSON

/// Reads messengers' instances, with the file's top-level `auth`, `channels` and `proxy` as defaults of every one.
struct MessengerReader {
  private let secrets: SecretReader
  private let context: SettingsReader.Context
  private let defaultAccess: Config.Access?
  private let defaultChannels: YAMLNode?
  private let defaultProxy: String?
  private(set) var messengers: [Config.Messenger] = []
  private(set) var places: [String: [String: String]] = [:]

  init(secrets: SecretReader, context: SettingsReader.Context, defaults root: SettingsReader) {
    self.secrets = secrets
    self.context = context
    defaultAccess = root.node("auth").map { _ in Self.access(root.group("auth")) }
    defaultChannels = root.node("channels")
    defaultProxy = root.proxy("proxy")
    if let defaultChannels { context.refuseUnquotedIDs("channels", defaultChannels, isChannels: true) }
  }

  /// An instance that something else than the file sets up: all that is known of it are the defaults.
  var implied: Config.Messenger {
    var messenger = Config.Messenger(kind: "", instance: "default")
    messenger.isImplied = true
    messenger.access = defaultAccess ?? Config.Access()
    messenger.proxy = defaultProxy
    messenger.settings = .object(defaultSettings(messenger.proxy))
    return messenger
  }

  /// The places of what `implied` has from the file.
  var impliedPlaces: [String: String] { places(of: "channels", defaultChannels) }

  mutating func read(kind: String, instance: String, _ node: YAMLNode?, mark: Mark) {
    guard Self.isName(kind), Self.isName(instance) else {
      context.complain(mark, "\"\(kind)/\(instance)\": a name may hold only a–z, 0–9, - and _, at most 32 of them")
      return
    }
    if case .scalar? = node {
      context.complain(
        mark,
        "messengers.\(kind).\(instance): a messenger's settings stand under an instance of it, as in default: "
          + "{\(instance): …}")
      return
    }
    guard !messengers.contains(where: { $0.kind == kind && $0.instance == instance }) else {
      context.complain(mark, "\(kind)/\(instance) is configured twice")
      return
    }
    let group = SettingsReader(node, context, at: "\(kind).\(instance)")
    var messenger = Config.Messenger(kind: kind, instance: instance)
    messenger.enabled = group.flag("enabled") ?? true
    if let access = group.node("auth").map({ _ in Self.access(group.group("auth")) }) ?? defaultAccess {
      messenger.access = access
    }
    if let output = group.choice("output", Config.Output.self) { messenger.output = output }
    if let images = group.choice("images", Config.Images.self) { messenger.images = images }
    if let busy = group.choice("busy", Config.Busy.self) { messenger.busy = busy }
    messenger.conversations = conversations(group)
    if let value = group.integer("editIntervalMilliseconds", in: 0...60_000) {
      messenger.editInterval = .milliseconds(value)
    }
    messenger.proxy = group.proxy("proxy") ?? defaultProxy
    messenger.settings = .object(settings(group, &messenger))
    messengers.append(messenger)
  }

  private func conversations(_ group: SettingsReader) -> [String: Config.ConversationSettings] {
    let all = group.group("conversations")
    return all.entries.reduce(into: [:]) { conversations, entry in
      let one = all.group(entry.key)
      var settings = Config.ConversationSettings()
      settings.use = one.choice("use", Config.Use.self)
      settings.output = one.choice("output", Config.Output.self)
      settings.images = one.choice("images", Config.Images.self)
      settings.busy = one.choice("busy", Config.Busy.self)
      settings.mention = one.flag("mention")
      one.refuseRest("conversations.\(entry.key)")
      conversations[entry.key] = settings
    }
  }

  /// The rest is the plugin's own, with references to secrets resolved.
  private mutating func settings(_ group: SettingsReader, _ messenger: inout Config.Messenger) -> [String: JSONValue] {
    var settings = defaultSettings(messenger.proxy)
    var places = impliedPlaces
    if group.entries.contains(where: { $0.key == "channels" }) { (settings["channels"], places) = (nil, [:]) }
    for entry in group.rest {
      places.merge(self.places(of: entry.key, entry.value)) { $1 }
      context.refuseUnquotedIDs(entry.key, entry.value, isChannels: entry.key == "channels")
    }
    self.places[messenger.name] = places
    let own = secrets.resolve(group.rest)
    messenger.hasLiteralSecret = own.hasLiteral
    settings.merge(own.settings) { _, new in new }
    return settings
  }

  private func defaultSettings(_ proxy: String?) -> [String: JSONValue] {
    var settings: [String: JSONValue] = [:]
    settings["channels"] = defaultChannels?.json
    settings["proxy"] = proxy.map { .string($0) }
    return settings
  }

  private func places(of key: String, _ node: YAMLNode?) -> [String: String] {
    node?.places(key).mapValues { "\(context.file):\($0)" } ?? [:]
  }

  private static func access(_ group: SettingsReader) -> Config.Access {
    var access = Config.Access()
    access.users = Set(group.strings("users") ?? [])
    access.roles = Set(group.strings("roles") ?? [])
    access.everyone = group.flag("everyone") ?? false
    group.refuseRest("auth")
    return access
  }

  static func isName(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count) && name != "attached"
      && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F }
  }
}
