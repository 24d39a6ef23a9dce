internal import RelayConcurrency
internal import RelayTransport
internal import RelayWire

/// Answers the requests of the control socket: each is a case of `answer`.
final class ControlRequests: Sendable {
  private let handlers: ControlServer.Handlers
  private let terminals: AttachedTerminals
  private let sessions: SessionRequests
  /// Requests to stop, which are answered when everything else is over.
  private let stops = Locked<[IncomingRequest]>([])

  init(_ handlers: ControlServer.Handlers, _ terminals: AttachedTerminals) {
    self.handlers = handlers
    self.terminals = terminals
    sessions = SessionRequests(handlers.sessions, agentsReachOthers: handlers.agentsReachOthers)
  }

  func answer(_ request: IncomingRequest, of client: ControlClient) async {
    do throws(WireError) {
      if request.method == Ping.method { return request.reply(Empty()) }
      if try await sessions.answer(request, of: client) { return }
      try client.requireOwner(for: request.method)
      switch request.method {
      case ControlStatus.method:
        var status = await handlers.status()
        status.problems += terminals.problems
        request.reply(status)
      case ControlPlugin.method:
        let order = try request.params(ControlPlugin.self)
        if let obstacle = await handlers.plugin(order.name, order.change) {
          throw WireError(.invalidParams, obstacle)
        }
        request.reply(Empty())
      case ControlRevokeGrant.method:
        if let obstacle = await handlers.revokeGrant(try request.params(ControlRevokeGrant.self).grant) {
          throw WireError(.invalidParams, obstacle)
        }
        request.reply(Empty())
      case ControlReload.method: request.reply(ControlReload.Reply(problems: await handlers.reload()))
      case ControlUpgrade.method:
        let program = try request.params(ControlUpgrade.self).program
        request.reply(ControlUpgrade.Reply(problem: await handlers.upgrade(program)))
      case ControlStop.method:
        stops.withLock { $0.append(request) }
        handlers.stop()
      default: throw WireError(.methodNotFound, "there is no method \(request.method)")
      }
    } catch {
      request.fail(error)
    }
  }

  /// - Parameter left: the work that was cut short or waits for the next start, in words.
  func answerStops(leaving left: [String]) {
    for stop in stops.withLock({ stops in
      defer { stops = [] }; return stops
    }) {
      stop.reply(ControlStop.Reply(parked: left))
    }
  }
}
