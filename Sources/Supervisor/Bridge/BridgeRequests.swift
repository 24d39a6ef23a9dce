internal import BridgeProtocol
internal import RelayJSON

/// Answers the requests of bridge clients: each is a case of `answer`.
struct BridgeRequests: Sendable {
  let bridge: SessionBridge
  let host: any BridgeHost
  let peer: BridgePeer
  let mayAct: Bool

  func answer(_ command: BridgeCommand) async -> BridgeResponse {
    do {
      let data = try await carryOut(try command.request.get())
      return BridgeResponse(id: command.id, command: command.name, .success(data))
    } catch let refusal as BridgeRefusal {
      return BridgeResponse(id: command.id, command: command.name, .failure(refusal))
    } catch {
      return BridgeResponse(id: command.id, command: command.name, .failure(BridgeRefusal("Error: \(error)")))
    }
  }

  private func carryOut(_ request: BridgeRequest) async throws -> [UInt8]? {
    let session = bridge.session
    if request.acts, !mayAct { throw BridgeRefusal("Error: an agent may only look at its own session") }
    switch request {
    case .ping:
      var data = JSONObjectText()
      data.add("protocol", BridgeProtocol.version)
      data.add("state", json: try await state("ping"))
      return data.closed
    case .state: return try await state("get_state")
    case .commands: return list("commands", await host.commands(of: session)).closed
    case .history(let query): return try bridge.history(query)
    case .questions:
      var data = JSONObjectText()
      data.add("available", true)
      data.add("questions", .array(await host.questions(of: session)))
      return data.closed
    case .answer(let question, let answers):
      try await host.answer(question, of: session, answers)
      return flag("answered", about: question)
    case .reject(let question):
      try await host.reject(question, of: session)
      return flag("rejected", about: question)
    case .emit(let message):
      var data = JSONObjectText()
      data.add("message", message)
      bridge.publish("bridge_emit", data.closed)
      return data.closed
    case .subscribe(let isWanted):
      peer.subscribe(isWanted)
      var data = JSONObjectText()
      data.add("enabled", isWanted)
      return data.closed
    case .prompt(let prompt):
      let wasInRun = bridge.isInRun
      let delivery = try await host.prompt(session, prompt)
      var data = JSONObjectText()
      // A run that the agent's own person began ends first.
      let waits = delivery.way == .now && delivery.wasIdle && wasInRun
      data.add("deliveredAs", (waits ? .followUp : delivery.way).rawValue)
      data.add("idleBeforeSend", delivery.wasIdle && !wasInRun)
      return data.closed
    case .abort:
      try await host.abort(session)
      return try await state("abort")
    case .shutdown(let isConfirmed):
      guard isConfirmed else { throw BridgeRefusal("Set confirm:true to shutdown this Pi session") }
      // Carried out once this is answered: the bridge goes with the agent.
      guard await host.state(of: session) != nil else { throw BridgeRefusal("Error: the session was closed") }
      var data = JSONObjectText()
      data.add("requested", true)
      return data.closed
    }
  }

  /// The request is carried out; see `serve` of the server, which does it.
  func isShutdown(_ command: BridgeCommand) -> Bool {
    if case .success(.shutdown(confirmed: true)) = command.request { mayAct } else { false }
  }

  private func state(_ reason: String) async throws -> [UInt8] {
    if let now = await host.state(of: bridge.session) {
      let isInRun = bridge.isInRun
      bridge.update(reason) { record in
        record.sessionName = now.name ?? record.sessionName
        // The host knows of no run that the agent's own person began.
        record.isIdle = now.isIdle && !isInRun
        record.hasPendingMessages = now.hasPendingMessages
      }
    }
    return try JSONCoding.encode(bridge.record)
  }

  private func list(_ key: String, _ items: [JSONValue]) -> JSONObjectText {
    var data = JSONObjectText()
    data.add(key, .array(items))
    return data
  }

  private func flag(_ key: String, about question: String) -> [UInt8] {
    var data = JSONObjectText()
    data.add(key, true)
    data.add("requestId", question)
    return data.closed
  }
}

extension BridgeRequest {
  /// Changes something for people or the agent.
  fileprivate var acts: Bool {
    switch self {
    case .answer, .reject, .prompt, .abort, .shutdown: true
    case .ping, .state, .commands, .history, .questions, .emit, .subscribe: false
    }
  }
}
