internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayHome
internal import RelayTransport
internal import RelayWire

/// The way of one process of a plugin from its start, or its adoption, to a connection that can be served.
struct PluginLaunch: Sendable {
  enum Outcome: Sendable {
    /// With the problem that the plugin has reported about itself.
    case connected(PluginConnection, problem: String?)
    /// The process is gone.
    case failed(PluginLifecycle.Ending)
  }

  let specification: PluginSpecification
  let dependencies: PluginDependencies
  /// Time that a plugin has to answer `initialize`.
  let handshakeLimit: Duration

  /// - Parameter snapshot: the process that an earlier program of this daemon started.
  func start(adopting snapshot: PluginSnapshot?) throws -> PluginProcess {
    let home = dependencies.home
    try home.makePrivate(home.spool(specification.name))
    try home.makePrivate(home.data(specification.name))
    if let snapshot { return try PluginProcess(adopting: snapshot, dependencies) }
    return try PluginProcess(specification, dependencies)
  }

  /// Begins to read from the process, and shakes hands unless an earlier program did.
  func connect(_ process: PluginProcess, adopting snapshot: PluginSnapshot?) async -> Outcome {
    let clock = dependencies.timeSource.clock
    do {
      try process.peer.start()
    } catch {
      process.peer.close()
      await process.child.tearDown([], clock: clock)
      return .failed(.failed("\(error)", worked: false))
    }
    let handshake = PluginHandshake(
      specification: specification, dependencies: dependencies, limit: handshakeLimit)
    if let snapshot { return .connected(handshake.link(snapshot.about, process), problem: snapshot.problem) }
    switch await handshake.perform(with: process) {
    case .success(let link): return .connected(link, problem: link.about.problem)
    case .failure(let ending):
      process.peer.close()
      // Requests that came before the handshake hold the peer for as long as they wait.
      for await _ in process.peer.requests {}
      await process.child.tearDown([.terminate(then: .milliseconds(500))], clock: clock)
      return .failed(ending)
    }
  }
}
