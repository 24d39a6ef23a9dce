internal import FoundationEssentials
internal import Glibc
internal import ProcessSupervision
internal import RelayConcurrency
package import RelayConfig
internal import RelayHome
package import RelayModel
internal import RelayStore
internal import RelayTransport
internal import RelayWire

/// All plugins: found, configured, kept running, and followed when their files or settings change.
package actor PluginHost {
  private let discovery: PluginDiscovery
  private var dependencies: PluginDependencies
  private let taskScope = TaskScope()
  private var config: Config
  private let places: Locked<[String: [String: String]]>
  private var instances: [String: PluginInstance] = [:]
  private var specifications: [String: PluginSpecification] = [:]
  /// Switched off by hand until switched on again.
  private var disabled: Set<String> = []
  /// Which are switched off is known.
  private var isReady = false
  /// Not gone on with yet.
  private var adopted: [String: PluginHandover]
  private var problems: [String] = []
  /// The last instance of each name that was stopped.
  private var retired: [String: PluginInstance] = [:]
  private var watch: FolderWatch?
  private var watchOfHome: FolderWatch?
  private var watchOfBundled: FolderWatch?
  private var stopping = false
  /// Counts replacements, so that of two that overlap the later one wins.
  private var changes = 0

  /// - Parameter adopted: what the program that this process was before had running.
  package init(
    discovery: PluginDiscovery, loaded: ConfigReader.Loaded, dependencies: PluginDependencies,
    adopting adopted: Handover? = nil
  ) {
    self.adopted = Dictionary(uniqueKeysWithValues: (adopted?.plugins ?? []).map { ($0.name, $0) })
    self.discovery = discovery
    config = loaded.config
    let places = Locked(loaded.places)
    self.places = places
    self.dependencies = dependencies
    self.dependencies.locate = { instance, path in
      places.withLock { $0[instance] }.flatMap { Self.place(path, $0) }
    }
  }

  /// Runs plugins until `stop`.
  package func run() async {
    do {
      disabled = try await dependencies.store.switchedOff()
    } catch {
      dependencies.log("which plugins are switched off could not be read, so all are started: \(error)")
    }
    isReady = true
    let changes = Mailbox<Void>(merge: { _, _ in true })
    taskScope.add { [self] in
      while await changes.next() != nil { await rescan() }
    }
    changesOfFolder = changes
    await rescan()
    for left in adopted.values { endLeft(left) }
    adopted = [:]
    await taskScope.run()
  }

  private var changesOfFolder: Mailbox<Void>?

  /// Watches the folders that are there now: one may have been removed and made anew.
  private func renewWatches() {
    guard let changes = changesOfFolder else { return }
    let folder = dependencies.folders.plugins
    if watch?.isCurrent != true { watch = watch(over: folder, changes) }
    if watch != nil {
      watchOfHome = nil
    } else if watchOfHome == nil {
      // Until it is back.
      watchOfHome = watch(over: dependencies.folders.home, alsoCreations: true, changes)
    }
    if let bundled = discovery.bundledFolder, watchOfBundled?.isCurrent != true {
      watchOfBundled = watch(over: bundled, changes)
    }
  }

  /// Folders whose watching failed, which is said once.
  private var unwatched: Set<String> = []

  private func watch(over folder: String, alsoCreations: Bool = false, _ changes: Mailbox<Void>) -> FolderWatch? {
    do {
      let watch = try FolderWatch(folder: folder, alsoCreations: alsoCreations) { changes.post(()) }
      unwatched.remove(folder)
      return watch
    } catch {
      if unwatched.insert(folder).inserted { dependencies.log("\(folder) is not watched for new plugins: \(error)") }
      return nil
    }
  }

  /// Takes a new configuration; plugins that it does not concern go on undisturbed.
  package func apply(_ new: ConfigReader.Loaded) async {
    config = new.config
    places.withLock { $0 = new.places }
    await rescan()
  }

  /// Looks at the folders again and makes what runs agree with what is there.
  package func rescan() async {
    guard !stopping, isReady else { return }
    renewWatches()
    let found = discovery.scan()
    let wanted = Self.specifications(found.plugins, config)
    problems = found.problems + Self.missing(found.plugins, config)
    for (name, instance) in instances where wanted[name] == nil {
      instances[name] = nil
      specifications[name] = nil
      dependencies.log("\(name) is gone and stopped")
      retire(name, instance)
    }
    for name in specifications.keys where wanted[name] == nil { specifications[name] = nil }
    for (name, specification) in wanted where specifications[name] != specification {
      specifications[name] = specification
      if let instance = instances[name] {
        dependencies.log("\(name) has changed and is replaced")
        changes += 1
        taskScope.add { [number = changes] in await instance.replace(with: specification, change: number) }
      } else if !disabled.contains(name) {
        start(specification)
      }
    }
  }

  /// The place of a setting, or of the nearest group around it.
  private static func place(_ path: String, _ places: [String: String]) -> String? {
    var path = path[...]
    while true {
      if let place = places[String(path)] { return place }
      guard let dot = path.lastIndex(of: ".") else { return nil }
      path = path[..<dot]
    }
  }

  private func start(_ specification: PluginSpecification) {
    let adopted = adopted.removeValue(forKey: specification.name)
    let instance = PluginInstance(specification, dependencies, adopting: adopted)
    instances[specification.name] = instance
    if let adopted, adopted.executable != specification.executable.stamp || adopted.settings != specification.settings {
      // It goes on until it has ended in good order.
      dependencies.log("\(specification.name) has changed and is replaced")
      taskScope.add { await instance.restartOnceRunning() }
    }
    let before = retired[specification.name]
    taskScope.add {
      // Two lives of one name would share its folders, its log and its account on the platform.
      await before?.ended()
      await instance.run()
    }
  }

  /// Nobody wants it any more.
  private func endLeft(_ handover: PluginHandover) {
    dependencies.log("\(handover.name) is gone and stopped")
    do {
      let child = try ChildProcess.adopt(handover.child, guardian: dependencies.guardian)
      for descriptor in [handover.peer.input, handover.peer.output, handover.errors] { _ = close(descriptor) }
      taskScope.add { [clock = dependencies.timekeeper.clock] in
        await child.tearDown([.wait(.seconds(2)), .terminate(then: .seconds(2))], clock: clock)
      }
    } catch {
      dependencies.log("\(handover.name) could not be ended: \(error)")
    }
  }

  var running: [PluginInstance] { Array(instances.values) }

  private func retire(_ name: String, _ instance: PluginInstance) {
    retired[name] = instance
    taskScope.add { await instance.stop() }
  }

  /// What is to run: each configured instance of a messenger, and one of everything else.
  private static func specifications(
    _ plugins: [DiscoveredPlugin], _ config: Config
  ) -> [String: PluginSpecification] {
    var result: [String: PluginSpecification] = [:]
    for plugin in plugins {
      let configured = config.messengers.filter { $0.kind == plugin.name }
      for messenger in configured where messenger.enabled {
        result[messenger.name] = PluginSpecification(
          name: messenger.name, executable: plugin, settings: messenger.settings, isConfigured: true,
          messenger: messenger)
      }
      guard configured.isEmpty else { continue }
      let settings = config.plugins[plugin.name]
      guard settings?.enabled != false else { continue }
      result[plugin.name] = PluginSpecification(
        name: plugin.name, executable: plugin, settings: settings?.settings ?? .object([:]),
        isConfigured: settings != nil, messenger: nil)
    }
    return result
  }

  private static func missing(_ plugins: [DiscoveredPlugin], _ config: Config) -> [String] {
    let known = Set(plugins.map(\.name))
    let kinds = Set(
      config.messengers.filter { $0.enabled && !$0.isImplied }.map(\.kind) + config.plugins.filter(\.value.enabled).keys
    )
    return kinds.subtracting(known).sorted().map {
      "relay.yaml configures \"\($0)\", but there is no plugin of that name; put its executable into plugins/"
    }
  }

  // MARK: - For the control socket

  package func reports() async -> [PluginStatus] {
    var result: [PluginStatus] = []
    for name in specifications.keys.sorted() {
      if let instance = instances[name] {
        result.append(await instance.report())
      } else {
        result.append(
          PluginStatus(name: name, state: .disabled, path: specifications[name]?.executable.path, restarts: 0))
      }
    }
    return result
  }

  package var knownProblems: [String] { problems }

  /// Channels that messengers are given, and conversations that have settings of their own.
  package func channels() -> [ChannelStatus] {
    config.messengers.filter(\.enabled).flatMap { messenger in
      let named = messenger.settings["channels"]?.arrayValue?.compactMap(\.stringValue) ?? []
      let others = messenger.conversations.keys.filter { !named.contains($0) }.sorted()
      return (named + others).map { name in
        let kind = Conversation.Kind(rawValue: name) ?? .channel
        let use = messenger.settings(of: Conversation(id: name, kind: kind)).use ?? .own
        return ChannelStatus(instance: messenger.name, channel: name, use: use.rawValue)
      }
    }
  }

  package enum Change: String, Sendable, Codable { case restart, enable, disable }

  /// Answers what is in the way of it, if anything.
  package func change(_ name: String, _ change: Change) async -> String? {
    guard let specification = specifications[name] else {
      return "there is no plugin \(name); pi-relayd plugins lists them"
    }
    switch change {
    case .restart:
      if disabled.contains(name) { return "\(name) is disabled; switch it on with: pi-relayd plugins enable \(name)" }
      if let instance = instances[name] { await instance.restart() } else { start(specification) }
    case .enable:
      if let obstacle = await keep(name, isOff: false) { return obstacle }
      disabled.remove(name)
      // It may have changed, or gone, meanwhile.
      if instances[name] == nil, let present = specifications[name] { start(present) }
    case .disable:
      if let obstacle = await keep(name, isOff: true) { return obstacle }
      disabled.insert(name)
      if let instance = instances.removeValue(forKey: name) {
        retired[name] = instance
        await instance.stop()
      }
    }
    return nil
  }

  /// For the next daemons, too.
  private func keep(_ name: String, isOff: Bool) async -> String? {
    do {
      try await dependencies.store.switchOff(name, isOff)
      return nil
    } catch {
      return "\(name) stays as it is, since the change could not be stored: \(error)"
    }
  }

  /// Stops every plugin, in good order and all at once.
  package func stop() async {
    stopping = true
    (watch, watchOfHome, watchOfBundled) = (nil, nil, nil)
    changesOfFolder?.close()
    await withDiscardingTaskGroup { group in
      for instance in instances.values { group.addTask { await instance.stop() } }
    }
    taskScope.close()
  }
}
