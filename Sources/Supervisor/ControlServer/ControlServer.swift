internal import CLinux
internal import Glibc
package import Logging
package import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
package import RelayHome
internal import RelayLogging
internal import RelayModel
internal import RelayTransport
internal import RelayWire

/// The control socket: the command line and attached messengers.
package final class ControlServer: Sendable {
  package struct Handlers: Sendable {
    package let status: @Sendable () async -> DaemonStatus
    package let plugin: @Sendable (String, PluginRegistry.Change) async -> String?
    package let reload: @Sendable () async -> [String]
    /// Answers what is in the way; where nothing is, it does not return.
    package let upgrade: @Sendable (String) async -> String
    package let stop: @Sendable () -> Void
    package let audience: any PluginEventHandler
    /// Processes of agents, whose descendants may not command the daemon that supervises them.
    package let agents: @Sendable () async -> Set<Int32>

    package init(
      status: @escaping @Sendable () async -> DaemonStatus,
      plugin: @escaping @Sendable (String, PluginRegistry.Change) async -> String?,
      reload: @escaping @Sendable () async -> [String],
      upgrade: @escaping @Sendable (String) async -> String,
      stop: @escaping @Sendable () -> Void,
      audience: any PluginEventHandler,
      agents: @escaping @Sendable () async -> Set<Int32>
    ) {
      self.status = status
      self.plugin = plugin
      self.reload = reload
      self.upgrade = upgrade
      self.stop = stop
      self.audience = audience
      self.agents = agents
    }
  }

  private struct State {
    var token: EventLoop.Token?
    var peers: [Int: JSONRPCConnection] = [:]
    var open = 0
    var attached: Set<String> = []
    var links: [String: PluginConnection] = [:]
    var next = 0
    /// Answered when everything else is over.
    var stops: [IncomingRequest] = []
  }

  static let maximumConnections = 64

  private let home: HomeDirectory
  private let handlers: Handlers
  private let marker: String
  private let clock: any Clock<Duration>
  private let logger: Logger
  private let descriptor: Int32
  private let taskScope = TaskScope()
  private let state = Locked(State())

  /// Begins to listen.
  ///
  /// - Parameter adopted: the listening socket of the program that this process was before.
  package init(
    home: HomeDirectory, handlers: Handlers, marker: String, clock: any Clock<Duration>,
    adopting adopted: Int32? = nil,
    logger: Logger
  ) throws(HomeDirectory.Failure) {
    self.home = home
    self.handlers = handlers
    self.marker = marker
    self.clock = clock
    self.logger = logger
    let result = adopted ?? relay_listen_unix(home.socket)
    guard result >= 0 else {
      throw HomeDirectory.Failure(
        SystemError("cannot be made", path: "the control socket \(home.socket)", code: -result))
    }
    descriptor = result
  }

  /// For the next program of this process.
  package var handover: Int32 { descriptor }

  /// Serves until `stop`.
  package func run() async {
    do {
      let token = try EventLoop.shared.watch(descriptor, .read) { [self] _ in acceptAll() }
      state.withLock { $0.token = token }
    } catch {
      logger.error("the control socket does not work: \(error)")
    }
    await taskScope.run()
  }

  /// - Parameter parked: what is told to those who asked for it.
  package func stop(leaving parked: [String]) {
    let (token, peers, stops) = state.withLock { state in
      defer {
        state.token = nil
        state.stops = []
      }
      return (state.token, Array(state.peers.values), state.stops)
    }
    for stop in stops { stop.reply(ControlStop.Reply(parked: parked)) }
    if let token { EventLoop.shared.close(token, descriptor) }
    for peer in peers { peer.finish() }
    for peer in peers { peer.close() }
    _ = unlink(home.socket)
    taskScope.close()
  }

  private func acceptAll() {
    while true {
      let connection = relay_accept(descriptor)
      guard connection >= 0 else {
        if connection == -EMFILE || connection == -ENFILE { pauseAccepting() }
        return
      }
      let isFull = state.withLock { state in
        if state.open >= Self.maximumConnections { return true }
        state.open += 1
        return false
      }
      guard !isFull else {
        _ = close(connection)
        logger.warning("a connection to the control socket was refused: \(Self.maximumConnections) are open already")
        continue
      }
      taskScope.add { [self] in
        await serve(connection)
        state.withLock { $0.open -= 1 }
      }
    }
  }

  /// Without a free descriptor the waiting connection would call again and again.
  private func pauseAccepting() {
    guard let token = state.withLock({ $0.token }) else { return }
    EventLoop.shared.change(token, descriptor, to: [])
    logger.error("the control socket takes no connection: too many files are open; raise the limit (ulimit -n)")
    taskScope.add { [self, clock] in
      // Cancelled, or without a token: the daemon is stopping.
      guard (try? await clock.sleep(for: .seconds(1))) != nil, let token = state.withLock({ $0.token }) else { return }
      EventLoop.shared.change(token, descriptor, to: .read)
    }
  }

  private enum Role { case owner, agent, stranger }

  private func role(_ connection: Int32) async -> Role {
    var pid: pid_t = 0
    var uid: uid_t = 0
    guard relay_peer_credentials(connection, &pid, &uid) == 0, uid == geteuid() else { return .stranger }
    // A process that has ended, or is not visible from here, cannot be inspected: refused.
    let began = relay_process_start_time(pid)
    guard pid > 0, began != 0 else { return .stranger }
    if relay_process_is_marked(pid, marker) != 0 { return .agent }
    let agents = await handlers.agents()
    var ancestor = pid
    for _ in 0..<64 where ancestor > 1 {
      if agents.contains(ancestor) { return .agent }
      ancestor = relay_process_parent(ancestor)
    }
    return relay_process_start_time(pid) == began ? .owner : .stranger
  }

  private func serve(_ connection: Int32) async {
    let role = await role(connection)
    let writer = fcntl(connection, F_DUPFD_CLOEXEC, 3)
    guard role != .stranger, writer >= 0 else {
      _ = close(connection)
      if writer >= 0 { _ = close(writer) }
      return
    }
    let peer = JSONRPCConnection(input: connection, output: writer, clock: clock)
    let number = state.withLock { state in
      state.next += 1
      state.peers[state.next] = peer
      return state.next
    }
    do {
      try peer.start()
      for await request in peer.requests {
        guard role == .owner else {
          request.fail(WireError(.forbidden, "an agent may not command the daemon that supervises it"))
          break
        }
        if request.method == ControlAttach.method {
          await attach(request, peer)
          break
        }
        await answer(request)
      }
    } catch {
      logger.notice("a control connection failed: \(error)")
    }
    peer.close()
    state.withLock { _ = $0.peers.removeValue(forKey: number) }
  }

  private func answer(_ request: IncomingRequest) async {
    switch request.method {
    case ControlStatus.method:
      var status = await handlers.status()
      let links = state.withLock { Array($0.links.values) }
      status.problems += links.compactMap { link in link.problem.map { "\(link.name): \($0)" } }.sorted()
      request.reply(status)
    case ControlPlugin.method:
      do {
        let order = try request.params(ControlPlugin.self)
        if let obstacle = await handlers.plugin(order.name, order.change) {
          request.fail(WireError(.invalidParams, obstacle))
        } else {
          request.reply(Empty())
        }
      } catch {
        request.fail(error)
      }
    case ControlReload.method: request.reply(ControlReload.Reply(problems: await handlers.reload()))
    case ControlUpgrade.method:
      do {
        let program = try request.params(ControlUpgrade.self).program
        request.reply(ControlUpgrade.Reply(problem: await handlers.upgrade(program)))
      } catch {
        request.fail(error)
      }
    case ControlStop.method:
      state.withLock { $0.stops.append(request) }
      handlers.stop()
    case Ping.method: request.reply(Empty())
    default: request.fail(WireError(.methodNotFound, "there is no method \(request.method)"))
    }
  }

  // MARK: - Attached messengers

  private func attach(_ request: IncomingRequest, _ peer: JSONRPCConnection) async {
    let client: String
    do {
      client = try request.params(ControlAttach.self).client
    } catch {
      request.fail(error)
      return
    }
    guard PluginDiscovery.isValid(client) else {
      request.fail(WireError(.invalidParams, "client: 1 to 32 of a–z, 0–9, - and _"))
      return
    }
    let name = "\(ConversationKey.terminalPrefix)\(client)"
    guard state.withLock({ $0.attached.insert(name).inserted }) else {
      request.fail(WireError(.invalidRequest, "\(name) is attached already"))
      return
    }
    defer { state.withLock { _ = $0.attached.remove(name) } }
    request.reply(Empty())
    do {
      let link = try await greet(name, peer)
      state.withLock { $0.links[name] = link }
      defer { state.withLock { _ = $0.links.removeValue(forKey: name) } }
      await handlers.audience.connected(link)
      for await request in peer.requests { await handlers.audience.received(request, from: link) }
      await handlers.audience.disconnected(link)
    } catch {
      logger.with("instance", name).warning("it could not be attached: \(error)")
    }
  }

  private func greet(_ name: String, _ peer: JSONRPCConnection) async throws -> PluginConnection {
    let spool = home.spool(name)
    let data = home.data(name)
    try home.makePrivate(spool)
    try home.makePrivate(data)
    let about = try await peer.request(
      InitializeRequest(
        host: HostDescription(name: "pi-relayd", version: Product.version), instance: name, config: .object([:]),
        dataDir: data, spoolDir: spool),
      within: PluginSupervisor.handshakeLimit)
    let logger = logger.with("instance", name)
    return PluginConnection(
      name: name, about: about, messenger: Config.Messenger(kind: "attached", instance: String(name.dropFirst(9))),
      spoolFolder: spool, isLocal: true, peer: peer,
      hung: { [weak peer] why in
        logger.warning("it is detached: \(why)")
        peer?.close()
      }, logger: logger)
  }
}
