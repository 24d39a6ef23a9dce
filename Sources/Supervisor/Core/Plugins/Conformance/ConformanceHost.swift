internal import RelayPipes
internal import RelayWire

/// The host of a plugin that is tried: answers all that a plugin may ask, keeps its state, and notes what it may not ask.
final class ConformanceHost: Sendable {
  private struct State {
    var saved: JSONValue?
    var complaint: String?
  }

  private let state = Locked(State())

  /// The last state that the plugin saved.
  var saved: JSONValue? { state.withLock { $0.saved } }

  /// The first request that was wrong.
  var complaint: String? { state.withLock { $0.complaint } }

  /// Serves until the connection ends.
  func serve(_ peer: Peer) async {
    for await request in peer.requests {
      do {
        try answer(request)
      } catch {
        state.withLock { $0.complaint = $0.complaint ?? error.message }
        request.fail(error)
      }
    }
  }

  private func answer(_ request: IncomingRequest) throws(WireError) {
    switch request.method {
    case MessageReceived.method:
      try keep(request.params(MessageReceived.self).state)
      request.reply(MessageReceived.Reply(stored: true))
    case CommandInvoked.method: try acknowledge(request, CommandInvoked.self, MessageReceived.Reply(stored: true))
    case ActionInvoked.method: try acknowledge(request, ActionInvoked.self, MessageReceived.Reply(stored: true))
    case CommandComplete.method: try acknowledge(request, CommandComplete.self, .init(completions: []))
    case StateSave.method:
      try keep(request.params(StateSave.self).state)
      request.reply(Empty())
    case MessageEdited.method: try acknowledge(request, MessageEdited.self, Empty())
    case MessageDeleted.method: try acknowledge(request, MessageDeleted.self, Empty())
    case ReactionAdded.method: try acknowledge(request, ReactionAdded.self, Empty())
    case ConversationClosed.method: try acknowledge(request, ConversationClosed.self, Empty())
    case ConversationReopened.method: try acknowledge(request, ConversationReopened.self, Empty())
    case ProblemReport.method: try acknowledge(request, ProblemReport.self, Empty())
    case Ping.method: request.reply(Empty())
    default: throw WireError(.methodNotFound, "it sends \(request.method), which the host does not know")
    }
  }

  private func acknowledge<Request: WireRequest>(
    _ request: IncomingRequest, _ type: Request.Type, _ reply: Request.Reply
  ) throws(WireError) {
    _ = try request.params(type)
    request.reply(reply, to: type)
  }

  private func keep(_ state: JSONValue?) throws(WireError) {
    guard let state else { return }
    guard JSONCoding.encode(state).count <= StateSave.maximumBytes else {
      throw WireError(.invalidParams, "state.save: the state is over \(ByteCount(StateSave.maximumBytes))")
    }
    self.state.withLock { $0.saved = state }
  }
}
