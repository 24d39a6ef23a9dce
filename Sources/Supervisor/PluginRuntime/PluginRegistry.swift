internal import Glibc
internal import Logging
internal import ProcessSupervision
internal import RelayConcurrency
package import RelayConfig
internal import RelayJSON
package import RelayModel
internal import RelayStore
internal import RelayTransport
internal import RelayWire

/// All plugins: found, configured, kept running, and followed when their files or settings change.
package actor PluginRegistry {
  private let discovery: PluginDiscovery
  private let dependencies: PluginDependencies
  private let taskScope = TaskScope()
  private let places: SettingPlaces
  private var watches: PluginFolderWatches
  private var phase = Phase.loading
  private var config: Config
  private var instances: [String: PluginSupervisor] = [:]
  private var specifications: [String: PluginSpecification] = [:]
  /// Switched off by hand until switched on again.
  private var disabled: Set<String> = []
  /// Inherited across `exec`, and not continued with yet.
  private var adopted: [String: PluginSnapshot]
  private var problems: [String] = []
  /// The last instance of each name that was stopped.
  private var retired: [String: PluginSupervisor] = [:]
  /// Counts replacements, so that of two that overlap the later one wins.
  private var changes = 0

  private enum Phase {
    /// It is not known yet which plugins are switched off.
    case loading
    case running
    case stopping
  }

  /// - Parameter adopted: plugins that the predecessor in this process had running.
  package init(
    discovery: PluginDiscovery, loaded: ConfigReader.Loaded, dependencies: PluginDependencies,
    adopting adopted: Snapshot? = nil
  ) {
    self.adopted = Dictionary(uniqueKeysWithValues: (adopted?.plugins ?? []).map { ($0.name, $0) })
    self.discovery = discovery
    config = loaded.config
    let places = SettingPlaces(loaded.places)
    self.places = places
    var dependencies = dependencies
    dependencies.locate = { places.locate($0, $1) }
    self.dependencies = dependencies
    watches = PluginFolderWatches(
      dependencies.home, bundledFolder: discovery.bundledFolder, logger: dependencies.logger)
  }

  /// Runs plugins until `stop`.
  package func run() async {
    do {
      disabled = try await dependencies.store.switchedOff()
    } catch {
      dependencies.logger.error("the list of disabled plugins could not be read, so all plugins are started: \(error)")
    }
    if phase == .loading { phase = .running }
    taskScope.add { [self, changes = watches.changes] in
      while await changes.next() != nil { await rescan() }
    }
    await rescan()
    for left in adopted.values { endLeft(left) }
    adopted = [:]
    await taskScope.run()
  }

  /// Applies a new configuration; plugins that it does not concern keep running.
  package func apply(_ new: ConfigReader.Loaded) async {
    config = new.config
    places.replace(with: new.places)
    await rescan()
  }

  /// Looks at the folders again and makes what runs agree with what is there.
  package func rescan() async {
    guard phase == .running else { return }
    watches.renew()
    let found = discovery.scan()
    let wanted = PluginSpecification.wanted(found.plugins, config)
    problems = found.problems + PluginSpecification.missing(found.plugins, config)
    for (name, instance) in instances where wanted[name] == nil {
      instances[name] = nil
      specifications[name] = nil
      dependencies.logger(of: name).notice("it is no longer there and was stopped")
      retire(name, instance)
    }
    for name in specifications.keys where wanted[name] == nil { specifications[name] = nil }
    for (name, specification) in wanted where specifications[name] != specification {
      specifications[name] = specification
      if let instance = instances[name] {
        dependencies.logger(of: name).notice("it has changed and is restarted")
        changes += 1
        taskScope.add { [number = changes] in await instance.replace(with: specification, change: number) }
      } else if !disabled.contains(name) {
        start(specification)
      }
    }
  }

  private func start(_ specification: PluginSpecification) {
    let adopted = adopted.removeValue(forKey: specification.name)
    let instance = PluginSupervisor(specification, dependencies, adopting: adopted)
    instances[specification.name] = instance
    if let adopted, adopted.executable != specification.executable.stamp || adopted.settings != specification.settings {
      // The old process serves until it has ended in good order.
      dependencies.logger(of: specification.name).notice("it has changed and is restarted")
      taskScope.add { await instance.restart() }
    }
    let before = retired[specification.name]
    taskScope.add {
      // Two processes of one name would share its folders, its log and its account on the platform.
      await before?.ended()
      await instance.run()
    }
  }

  /// Ends an inherited process that is configured no more.
  private func endLeft(_ handover: PluginSnapshot) {
    dependencies.logger(of: handover.name).notice("it is no longer there and was stopped")
    do {
      let child = try ChildProcess.adopt(handover.child, guardian: dependencies.guardian)
      for descriptor in [handover.peer.input, handover.peer.output, handover.errors] { _ = close(descriptor) }
      taskScope.add { [clock = dependencies.timeSource.clock] in
        await child.tearDown([.wait(.seconds(2)), .terminate(then: .seconds(2))], clock: clock)
      }
    } catch {
      dependencies.logger(of: handover.name).error("it could not be stopped: \(error)")
    }
  }

  private func retire(_ name: String, _ instance: PluginSupervisor) {
    retired[name] = instance
    taskScope.add { await instance.stop() }
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

  /// Restarts, enables or disables a plugin.
  ///
  /// - Returns: the obstacle, for people; `nil` when it was done.
  package func change(_ name: String, _ change: Change) async -> String? {
    guard let specification = specifications[name] else {
      return "there is no plugin \(name); pi-relayd plugins lists them"
    }
    switch change {
    case .restart:
      if disabled.contains(name) { return "\(name) is disabled; enable it with: pi-relayd plugins enable \(name)" }
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

  /// Stores the change, for later daemons too.
  private func keep(_ name: String, isOff: Bool) async -> String? {
    do {
      try await dependencies.store.switchOff(name, isOff)
      return nil
    } catch {
      return "\(name) was not changed, because the change could not be stored: \(error)"
    }
  }

  /// Stops every plugin, in good order and all at once.
  package func stop() async {
    phase = .stopping
    watches.end()
    await withDiscardingTaskGroup { group in
      for instance in instances.values { group.addTask { await instance.stop() } }
    }
    taskScope.close()
  }

  // MARK: - Upgrade

  package struct Snapshot: Codable, Sendable {
    package var plugins: [PluginSnapshot] = []
  }

  /// Hears nothing more of the plugins until `resume`.
  ///
  /// - Returns: `nil` with the name of the plugin that is in the middle of something.
  package func hold() async -> (handover: Snapshot?, busy: String?) {
    var handover = Snapshot()
    for instance in instances.values {
      switch await instance.takeSnapshot() {
      case .notRunning: break
      case .ready(let plugin): handover.plugins.append(plugin)
      case .busy: return (nil, instance.name)
      }
    }
    return (handover, nil)
  }

  package func resume() async { for instance in instances.values { await instance.resume() } }
}
