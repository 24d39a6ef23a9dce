package import AgentRuntime
package import BridgeProtocol
internal import Glibc
package import Logging
package import PiRPC
internal import ProcessSupervision
package import RelayConcurrency
internal import RelayTransport
internal import RelayWire

/// The bridges of all agents: one for each process, from its start to its end.
package final class BridgeServer: AgentObserver {
  private struct Running {
    let bridge: SessionBridge
    let listener: UnixListener
    /// Ends what is published beside the agent's events.
    let unfollow: (@Sendable () -> Void)?
  }

  /// Time for a client to read the end of its connection.
  private static let closeGrace: Duration = .seconds(1)
  /// Milliseconds between the heartbeats of a session that has its own.
  private static let heartbeats = 1_000...600_000

  private let folder: BridgeFolder
  private let limits: BridgeLimits
  private let heartbeat: Duration?
  private let hostName: String
  private let timeSource: TimeSource
  private let logger: Logger
  private let host: Locked<(any BridgeHost)?> = Locked(nil)
  private let taskScope = TaskScope(executor: EventLoop.logs)
  private let running = Locked<[Int32: Running]>([:])
  /// Processes that had a bridge when this daemon started, and live: other programs, agents of the program before an
  /// upgrade, and agents of a killed daemon that are ending.
  private let earlier: Locked<Set<Int32>>

  /// Prepares the folder.
  ///
  /// - Parameter heartbeat: the interval at which registry files say that their session lives; `nil`: never.
  package init(
    folder: BridgeFolder, limits: BridgeLimits, heartbeat: Duration?, hostName: String, timeSource: TimeSource,
    logger: Logger
  ) throws(BridgeFolder.Failure) {
    self.folder = folder
    self.limits = limits
    self.heartbeat = heartbeat
    self.hostName = hostName
    self.timeSource = timeSource
    self.logger = logger
    earlier = Locked(try folder.prepare())
  }

  /// Sets the sessions that requests are about: they exist later than the bridges' folder.
  package func serve(_ host: any BridgeHost) { self.host.withLock { $0 = host } }

  /// Serves until `stop`.
  package func run() async {
    if let heartbeat {
      taskScope.add { [self] in
        while await timeSource.sleep(for: heartbeat) { beat() }
      }
    }
    await taskScope.run()
  }

  private func beat() {
    for one in running.withLock({ Array($0.values) }) where !one.bridge.hasOwnHeartbeat {
      one.bridge.update("heartbeat") { _ in }
    }
  }

  /// - Parameter interval: of a session that has one of its own.
  private func beat(_ bridge: SessionBridge, every interval: Duration?) {
    guard let interval else { return }
    taskScope.add { [self, weak bridge] in
      while await timeSource.sleep(for: interval), let bridge,
        running.withLock({ $0[bridge.pid]?.bridge === bridge })
      {
        bridge.update("heartbeat") { _ in }
      }
    }
  }

  private func folder(of session: ObservedSession) throws -> BridgeFolder {
    guard let path = session.bridge?.bridgeDir, path.hasPrefix("/") else { return folder }
    let own = BridgeFolder(path: path)
    if own != folder { try own.prepare() }
    return own
  }

  /// Ends all bridges, and returns when their files are removed.
  package func stop(reason: String) async {
    for one in running.withLock({ running in
      defer { running = [:] }
      return Array(running.values)
    }) {
      end(one, reason: reason)
    }
    await withCheckedContinuation { done in EventLoop.logs.perform { done.resume() } }
    taskScope.close()
  }

  // MARK: - Agents

  package func began(_ process: PiConnection, of session: ObservedSession) {
    let logger = logger
    let pid = process.process.pid
    EventLoop.logs.perform { [self] in removeStale(at: pid) }
    if let before = running.withLock({ $0.removeValue(forKey: pid) }) { end(before, reason: "pi has connected again") }
    do {
      let folder = try folder(of: session)
      let bridge = SessionBridge(
        process, of: session, hostName: hostName, folder: folder, limits: limits.with(session.bridge),
        timeSource: timeSource, logger: logger, taskScope: taskScope)
      let listener = try UnixListener(
        path: folder.socket(bridge.pid), maximumConnections: SessionBridge.maximumClients, loop: .logs,
        clock: timeSource.clock, taskScope: taskScope
      ) { refusal in
        logger.warning("a client of a bridge was not connected: \(refusal)")
      }
      let unfollow = host.withLock { $0 }?.follow(session.id) { [weak bridge] in bridge?.publish($0, $1) }
      running.withLock { $0[bridge.pid] = Running(bridge: bridge, listener: listener, unfollow: unfollow) }
      bridge.update("session_start") { _ in }
      try listener.start { [weak self] in await self?.serve($0, bridge) }
      process.record { [weak bridge] in bridge?.take($0) }
      bridge.publish("bridge_start", Array("{}".utf8))
      beat(
        bridge,
        every: session.bridge?.heartbeatMs.map {
          .milliseconds(min(max($0, Self.heartbeats.lowerBound), Self.heartbeats.upperBound))
        })
    } catch {
      logger.warning("the session has no bridge: \(error)")
    }
  }

  /// Removes the files of an agent of a killed daemon that was ending still when this one started. Where the agent that
  /// begins has been taken over itself, the others may follow: they are not looked at for each.
  private func removeStale(at pid: Int32) {
    let others: Set<Int32> = earlier.withLock { earlier in earlier.remove(pid) == nil ? earlier : [] }
    guard !others.isEmpty else { return }
    let gone = others.subtracting(folder.removeStale(among: others))
    earlier.withLock { $0.subtract(gone) }
  }

  package func told(_ state: PiState, by process: PiConnection) {
    running.withLock { $0[process.process.pid] }?.bridge.learn(state)
  }

  package func ended(_ process: PiConnection) {
    // A pi in a terminal connects again, with another bridge, before the end of the connection was noticed.
    let one: Running? = running.withLock { running in
      let pid = process.process.pid
      return running[pid]?.bridge.process === process ? running.removeValue(forKey: pid) : nil
    }
    if let one { end(one, reason: "the agent has ended") }
  }

  private func end(_ one: Running, reason: String) {
    one.listener.stop()
    one.unfollow?()
    let pid = one.bridge.pid
    // Behind the agent's last events.
    EventLoop.logs.perform { [self] in
      let peers = one.bridge.stop(reason: reason)
      // Another bridge of the process has files of the same names.
      if running.withLock({ $0[pid]?.bridge.folder != one.bridge.folder }) { one.bridge.folder.remove(pid) }
      guard !peers.isEmpty else { return }
      taskScope.add { [timeSource] in
        _ = await timeSource.sleep(for: Self.closeGrace)
        for peer in peers { peer.close() }
      }
    }
  }

  // MARK: - Clients

  private func serve(_ descriptor: Int32, _ bridge: SessionBridge) async {
    guard let host = host.withLock({ $0 }), case let admission = await host.admits(descriptor, to: bridge.session),
      admission != .none
    else {
      _ = close(descriptor)
      return
    }
    do {
      let peer = try BridgePeer(descriptor, limits: bridge.limits) { [logger] unsent in
        logger.warning("bridge-client-stalled=\(unsent): the client did not read, and is disconnected")
      }
      guard let number = try bridge.add(peer) else { return peer.close() }
      defer { bridge.remove(number) }
      try peer.start()
      let requests = BridgeRequests(bridge: bridge, host: host, peer: peer, mayAct: admission == .acting)
      while let arrival = await peer.arrivals.next() {
        switch arrival {
        case .command(let command, let bytes):
          peer.send(await requests.answer(command).line)
          peer.answered(bytes: bytes)
          if requests.isShutdown(command) { try await host.shutDown(bridge.session) }
        case .tooLong(let length):
          let words = "Input line exceeds \(ByteCount(bridge.limits.maxLineBytes)): it has \(length) bytes"
          peer.send(BridgeResponse(id: nil, command: nil, .failure(BridgeRefusal(words))).line)
        }
      }
      peer.close()
    } catch {
      logger.notice("a client of a bridge was lost: \(error)")
    }
  }
}
