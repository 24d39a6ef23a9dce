internal import AgentRuntime
internal import ControlServer
internal import Glibc
internal import LiveUpgrade
internal import MessageRouting
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayModel
internal import RelayStore
internal import SessionCatalog

/// Asks all parts for their state.
struct StatusReport: Sendable {
  let options: Daemon.Options
  let loaded: ConfigReader.Loaded
  let parts: DaemonParts
  /// A reading of the options' clock.
  let began: Duration

  func read() async -> DaemonStatus {
    let home = options.home.path
    let (deliveries, trouble) = await deliveries()
    let (conversations, more) = await parts.router.conversations()
    let disk = [DiskSpace(of: home)?.problem(of: home)].compactMap(\.self)
    return await DaemonStatus(
      version: Product.version, pid: getpid(), home: home, machine: loaded.config.machine.name ?? Daemon.hostName,
      uptime: Double((options.timeSource.now() - began).components.seconds), configuration: loaded.path,
      agent: parts.agents.known, plugins: parts.plugins.reports(), sessions: parts.sessions.statuses(),
      deliveries: deliveries, terminals: parts.router.attachedTerminals(), channels: parts.plugins.channels(),
      conversations: conversations, problems: parts.plugins.knownProblems + trouble + more + disk,
      upgrades: options.handover?.count ?? 0)
  }

  private func deliveries() async -> ([DeliveryStatus], problems: [String]) {
    do {
      let deliveries = try await parts.store.deliveryCounts().map {
        DeliveryStatus(instance: $0.instance, waiting: $0.waiting, failed: $0.failed, lastFailure: $0.lastFailure)
      }
      return (deliveries, [parts.store.failure].compactMap { $0.map { "\($0)" } })
    } catch {
      return ([], ["\(error)"])
    }
  }
}
