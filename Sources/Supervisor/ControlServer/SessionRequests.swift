internal import RelayConcurrency
internal import RelayModel
internal import RelayTransport
internal import RelayWire

/// Answers the requests about sessions: each is a case of `look` or `act`.
struct SessionRequests: Sendable {
  private let sessions: any SessionService
  private let agentsReachOthers: Bool

  /// Requests with which an agent drives others where the configuration lets it. It answers no question: one may be
  /// about its own call.
  private static let driving: Set<String> = [
    SessionCreateRequest.method, ProgramPrompt.method, SessionSteerRequest.method, SessionAbortRequest.method,
  ]

  init(_ sessions: any SessionService, agentsReachOthers: Bool = false) {
    self.sessions = sessions
    self.agentsReachOthers = agentsReachOthers
  }

  /// - Returns: false for a request that is not about sessions.
  func answer(_ request: IncomingRequest, of client: ControlClient) async throws(WireError) -> Bool {
    if try await look(request, client) { return true }
    return try await act(request, client)
  }

  // MARK: - Looking

  /// An agent's process is told of its own session.
  private func look(_ request: IncomingRequest, _ client: ControlClient) async throws(WireError) -> Bool {
    switch request.method {
    case SessionListRequest.method:
      let only = try onlySession(of: client)
      let all = await sessions.list()
      request.reply(SessionListRequest.Reply(sessions: all.filter { only == nil || $0.id == only }))
    case SessionStatusRequest.method:
      request.reply(try await status(try request.params(SessionStatusRequest.self).session, client))
    case SessionQuestionsRequest.method:
      let session = try await status(try request.params(SessionQuestionsRequest.self).session, client).id
      request.reply(SessionQuestionsRequest.Reply(questions: try await sessions.questions(of: session)))
    case SessionSubscribeRequest.method:
      let status = try await status(try request.params(SessionSubscribeRequest.self).session, client)
      if client.isSubscribed(to: status.id) { return try await replySubscribed(request, status.id) }
      // Before the state is read: nothing that follows it is missed.
      let feed = try await sessions.feed(of: status.id)
      defer { client.subscribe(to: status.id, feed) }
      return try await replySubscribed(request, status.id)
    case SessionUnsubscribeRequest.method:
      let session = try await status(try request.params(SessionUnsubscribeRequest.self).session, client).id
      client.unsubscribe(from: session)
      request.reply(Empty())
    default: return false
    }
    return true
  }

  private func replySubscribed(_ request: IncomingRequest, _ session: String) async throws(WireError) -> Bool {
    let questions = try await sessions.questions(of: session)
    request.reply(SessionSubscribeRequest.Reply(session: try await sessions.status(session), questions: questions))
    return true
  }

  /// The only session that the client may ask about; `nil` for one that may ask about all.
  private func onlySession(of client: ControlClient) throws(WireError) -> String? {
    let only = try client.onlySession()
    return agentsReachOthers ? nil : only
  }

  /// - Throws: also where the client may not ask about the session, without telling whether there is such a session.
  private func status(_ name: String, _ client: ControlClient) async throws(WireError) -> SessionStatus {
    guard let only = try onlySession(of: client) else { return try await sessions.status(name) }
    let own = try await sessions.status(only)
    guard name == own.id || name.lowercased() == own.name.lowercased() else {
      throw WireError(
        .forbidden, "session: this process belongs to the session \(own.name) (\(own.id)), and may ask about no other")
    }
    return own
  }

  // MARK: - Acting

  private func act(_ request: IncomingRequest, _ client: ControlClient) async throws(WireError) -> Bool {
    guard request.method.hasPrefix("session.") else { return false }
    let mayDrive = agentsReachOthers && client.agentSession != nil && Self.driving.contains(request.method)
    if !mayDrive { try client.requireOwner(for: request.method) }
    switch request.method {
    case SessionCreateRequest.method:
      let order = try request.params(SessionCreateRequest.self)
      request.reply(
        try await sessions.create(
          directory: order.directory, name: order.name, model: order.model, task: order.task))
    case ProgramPrompt.method: request.reply(try await sessions.prompt(try request.params(ProgramPrompt.self)))
    case SessionSteerRequest.method:
      let order = try request.params(SessionSteerRequest.self)
      request.reply(
        try await sessions.prompt(
          ProgramPrompt(
            session: order.session, text: order.text, images: order.images, delivery: .steer, id: order.id)))
    case SessionAbortRequest.method:
      let session = try request.params(SessionAbortRequest.self).session
      request.reply(SessionAbortRequest.Reply(stopped: try await sessions.abort(session)))
    case SessionAnswerRequest.method:
      let order = try request.params(SessionAnswerRequest.self)
      let answer = try await sessions.answer(order.session, question: order.question, order.answer)
      request.reply(SessionAnswerRequest.Reply(answer: answer))
    case SessionRenameRequest.method:
      let order = try request.params(SessionRenameRequest.self)
      request.reply(SessionRenameRequest.Reply(name: try await sessions.rename(order.session, to: order.name)))
    case SessionModelRequest.method:
      let order = try request.params(SessionModelRequest.self)
      try await sessions.use(model: order.model, in: order.session)
      request.reply(Empty())
    case SessionCompactRequest.method:
      let order = try request.params(SessionCompactRequest.self)
      try await sessions.compact(order.session, keeping: order.instructions)
      request.reply(Empty())
    case SessionCloseRequest.method:
      try await sessions.close(try request.params(SessionCloseRequest.self).session)
      request.reply(Empty())
    default: return false
    }
    return true
  }
}
