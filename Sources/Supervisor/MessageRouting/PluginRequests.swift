internal import ConversationSessions
internal import Logging
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayJSON
internal import RelayLogging
internal import RelayStore
internal import RelayTransport
internal import RelayWire

/// Carries out the requests of plugins: each is a case of `carryOut`.
final class PluginRequests: Sendable {
  private let store: SQLiteStore
  private let gate: InboundGate
  private let threads: ThreadSessions
  private let completion: CommandCompletion
  private let taskScope: TaskScope
  private let logger: Logger

  init(
    store: SQLiteStore, gate: InboundGate, threads: ThreadSessions, completion: CommandCompletion, taskScope: TaskScope,
    logger: Logger
  ) {
    self.store = store
    self.gate = gate
    self.threads = threads
    self.completion = completion
    self.taskScope = taskScope
    self.logger = logger
  }

  func answer(_ request: IncomingRequest, from link: PluginConnection) async {
    do {
      try await carryOut(request, from: link)
    } catch let error as WireError {
      request.fail(error)
    } catch {
      logger.with("instance", link.name).error("\(request.method) failed: \(error)")
      request.fail(WireError(.internalError, "it could not be stored; send it again"))
    }
  }

  private func carryOut(_ request: IncomingRequest, from link: PluginConnection) async throws {
    // A request that concerns a message, or follows it, does not overtake it.
    if request.method != MessageReceived.method, gate.isStoring { try await store.settled() }
    switch request.method {
    case Ping.method: request.reply(Empty())
    case StateSave.method: try await saveState(request, link)
    case ProblemReport.method: try noteProblem(request, link)
    case MessageReceived.method: try gate.receive(request.params(MessageReceived.self), request, link)
    case MessageEdited.method: try await gate.receive(request.params(MessageEdited.self), request, link)
    case MessageDeleted.method: try await gate.receive(request.params(MessageDeleted.self), request, link)
    case CommandInvoked.method: try gate.receive(request.params(CommandInvoked.self), request, link)
    case ActionInvoked.method: try await gate.receive(request.params(ActionInvoked.self), request, link)
    case CommandComplete.method:
      let ask = try request.params(CommandComplete.self)
      try gate.requireMessenger(link)
      // An agent may be asked for it, which must not hold up what people write.
      taskScope.add { [completion] in await completion.answer(ask, link, request) }
    case ConversationClosed.method:
      try gate.requireMessenger(link)
      try await threads.closed(request.params(ConversationClosed.self), link)
      request.reply(Empty())
    case ConversationReopened.method, ReactionAdded.method: request.reply(Empty())
    default: throw WireError(.methodNotFound, "there is no method \(request.method)")
    }
  }

  private func noteProblem(_ request: IncomingRequest, _ link: PluginConnection) throws(WireError) {
    if link.note(try request.params(ProblemReport.self).problem) {
      let logger = logger.with("instance", link.name)
      if let problem = link.problem { logger.warning("\(problem)") } else { logger.notice("the problem is over") }
    }
    request.reply(Empty())
  }

  private func saveState(_ request: IncomingRequest, _ link: PluginConnection) async throws {
    let state = try request.params(StateSave.self).state
    guard JSONCoding.encode(state).count <= StateSave.maximumBytes else {
      throw WireError(.invalidParams, "state.save: the state is over \(ByteCount(StateSave.maximumBytes))")
    }
    try await store.savePluginState(state, of: link.name)
    request.reply(Empty())
  }
}
