package import AgentExtension
internal import Glibc
package import Logging
internal import RelayConcurrency
package import RelayHome
internal import RelayTransport
internal import RelayWire

/// The control socket: the command line and attached messengers.
///
/// `UnixListener` takes connections, `ControlRole` says who connects, `ControlRequests` and `SessionRequests` answer
/// requests, `ControlClient` is the one who asks, and `AttachedTerminals` serves connections that become messengers.
package final class ControlServer: Sendable {
  private struct Connections {
    var peers: [Int: JSONRPCConnection] = [:]
    var clients: [Int: ControlClient] = [:]
    var next = 0

    mutating func add(_ peer: JSONRPCConnection) -> Int {
      next += 1
      peers[next] = peer
      return next
    }
  }

  static let maximumConnections = 256

  let handlers: Handlers
  private let marker: String
  private let clock: any Clock<Duration>
  private let logger: Logger
  private let taskScope = TaskScope()
  private let listener: UnixListener
  private let terminals: AttachedTerminals
  private let requests: ControlRequests
  private let connections = Locked(Connections())

  /// Begins to listen.
  ///
  /// - Parameter adopted: the listening socket of the program that this process was before.
  package init(
    home: HomeDirectory, handlers: Handlers, marker: String, clock: any Clock<Duration>,
    adopting adopted: Int32? = nil,
    logger: Logger
  ) throws(HomeDirectory.Failure) {
    self.handlers = handlers
    self.marker = marker
    self.clock = clock
    self.logger = logger
    do {
      listener = try UnixListener(
        path: home.socket, adopting: adopted, maximumConnections: Self.maximumConnections, clock: clock,
        taskScope: taskScope
      ) { refusal in
        switch refusal {
        case .full(let maximum):
          logger.warning("a connection to the control socket was refused: \(maximum) are open already")
        case .noDescriptor:
          logger.error("the control socket takes no connection: too many files are open; raise the limit (ulimit -n)")
        }
      }
    } catch {
      throw HomeDirectory.Failure(error)
    }
    terminals = AttachedTerminals(home: home, audience: handlers.audience, logger: logger)
    requests = ControlRequests(handlers, terminals)
  }

  /// For the next program of this process.
  package var handover: Int32 { listener.descriptor }

  /// Serves until `stop`.
  package func run() async {
    do {
      try listener.start { [self] in await serve($0) }
    } catch {
      logger.error("the control socket does not work: \(error)")
    }
    await taskScope.run()
  }

  /// - Parameter left: the work that was cut short or waits for the next start, for those who asked to stop.
  package func stop(leaving left: [String]) {
    let peers = connections.withLock { Array($0.peers.values) }
    requests.answerStops(leaving: left)
    listener.stop()
    for peer in peers { peer.finish() }
    for peer in peers { peer.close() }
    taskScope.close()
  }

  /// Takes over the descriptor of a connection, and returns when the connection is over.
  private func serve(_ connection: Int32) async {
    let role = await ControlRole.ofPeer(connection, marker: marker, agents: handlers.agents)
    let writer = fcntl(connection, F_DUPFD_CLOEXEC, 3)
    let isStranger = if case .stranger = role { true } else { false }
    guard !isStranger, writer >= 0 else {
      _ = close(connection)
      if writer >= 0 { _ = close(writer) }
      return
    }
    let peer = JSONRPCConnection(input: connection, output: writer, clock: clock, answersUnreadable: true)
    let number = connections.withLock { $0.add(peer) }
    let client = ControlClient(peer, role, clock: clock, taskScope: taskScope, logger: logger)
    connections.withLock { $0.clients[number] = client }
    let (waiting, offers) = (WithdrawableRequests(), PairingOffers())
    let caller = client.agentSession.map { session in
      ExtensionCaller(
        session: session,
        isTerminal: Self.process(at: connection).map { handlers.attachments.wasAttached($0) } ?? false)
    }
    do {
      try peer.start()
      for await request in peer.requests {
        if request.method == ControlAttach.method, client.isOwner {
          await terminals.attach(request, peer)
          break
        }
        if request.method == SessionAttachRequest.method {
          await attach(request, peer, connection, isOwner: client.isOwner)
          break
        }
        guard client.takes(request) else { continue }
        if PairingRequests.methods.contains(request.method), client.isOwner || caller != nil {
          answer(pairing: request, of: caller, waiting, offers)
        } else if let caller, ExtensionRequests.methods.contains(request.method) {
          // Before it is answered with the settings of now: a change that follows is told.
          if request.method == ExtensionHello.method { client.noteGreeting() }
          answer(request, of: caller, waiting)
        } else {
          await requests.answer(request, of: client)
        }
      }
    } catch {
      logger.notice("a control connection failed: \(error)")
    }
    client.close()
    waiting.withdrawAll()
    for pairing in offers.close() { handlers.pairing.takeBack(pairing) }
    connections.withLock { connections in
      connections.peers[number] = nil
      connections.clients[number] = nil
    }
  }

  /// Tells the extensions of all agents settings that have changed.
  package func tell(_ settings: ExtensionSettings) {
    for client in connections.withLock({ Array($0.clients.values) }) { client.tell(settings) }
  }

  /// Tells the extensions of these sessions that their pairings have changed.
  package func tellPairings(of sessions: Set<String>) {
    for client in connections.withLock({ Array($0.clients.values) }) {
      guard let session = client.agentSession, sessions.contains(session) else { continue }
      client.tell(PairingListRequest.changed, Empty())
    }
  }

  /// Answers a request about pairings beside those that follow, since one waits for a person.
  private func answer(
    pairing request: IncomingRequest, of caller: ExtensionCaller?, _ waiting: WithdrawableRequests,
    _ offers: PairingOffers
  ) {
    let answer: @Sendable () async -> Void = { [handlers] in
      await PairingRequests(service: handlers.pairing, sessions: handlers.sessions, offers: offers)
        .answer(request, of: caller)
    }
    let isWaiting = request.method == PairingWaitRequest.method
    taskScope.add(isWaiting ? waiting.admit(request.id, answer) : answer)
  }

  /// Answers a request of an extension beside those that follow, since an approval waits for a person.
  private func answer(_ request: IncomingRequest, of caller: ExtensionCaller, _ approvals: WithdrawableRequests) {
    let answer: @Sendable () async -> Void = { [handlers] in
      await ExtensionRequests(handlers.extensions).answer(request, of: caller)
    }
    switch request.method {
    case ExtensionWithdraw.method:
      do {
        approvals.withdraw(try request.params(ExtensionWithdraw.self).request)
        request.reply(Empty())
      } catch {
        request.fail(error)
      }
    case ExtensionApprove.method: taskScope.add(approvals.admit(request.id, answer))
    default: taskScope.add(answer)
    }
  }
}
