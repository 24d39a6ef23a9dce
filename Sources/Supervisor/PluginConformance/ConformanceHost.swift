internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// The host of a plugin that is tried: answers all that a plugin may ask, keeps its state, and notes what it may not ask.
final class ConformanceHost: Sendable {
  /// How messages are answered.
  enum Mood {
    case stores
    /// Not at all, as by a host that ends meanwhile.
    case silent
    /// The first message of the process is put off once; once it is back and stored, later ones get no answer.
    case busy
  }

  private struct State {
    var mood = Mood.stores
    var saved: JSONValue?
    var complaint: String?
    var mixUp: String?
    var renaming: String?
    /// By conversation and id, as they came first.
    var known: [Key: MessageReceived] = [:]
    var stored: Set<Key> = []
    /// How often each has come from this process.
    var arrivals: [Key: Int] = [:]
    var putOff: Key?
    /// Messages of this process that got no answer.
    var left: Set<Key> = []
    /// Kept, since a request that is forgotten is answered.
    var unanswered: [IncomingRequest] = []

    mutating func answer(to key: Key) -> Mood {
      guard mood == .busy else { return mood }
      guard let putOff else {
        putOff = key
        return .busy
      }
      return key == putOff || arrivals[putOff] == 1 ? .stores : .silent
    }
  }

  struct Key: Hashable, Sendable {
    var conversation: String
    var id: String
  }

  private let state = Locked(State())

  /// The last state that the plugin saved.
  var saved: JSONValue? { state.withLock { $0.saved } }

  /// The first request that was wrong.
  var complaint: String? { state.withLock { $0.complaint } }

  /// Two messages of one id.
  var mixUp: String? { state.withLock { $0.mixUp } }

  /// A message of an earlier process that came under another id.
  var renaming: String? { state.withLock { $0.renaming } }

  /// How often each message has come from this process.
  var arrivals: [Key: Int] { state.withLock { $0.arrivals } }

  /// The message of this process that was answered with -32001.
  var putOff: Key? { state.withLock { $0.putOff } }

  /// Messages of this process that got no answer.
  var left: Set<Key> { state.withLock { $0.left } }

  /// True once any message has come, from any of its processes.
  var hasReceived: Bool { state.withLock { !$0.known.isEmpty } }

  /// Begins another process of the plugin.
  func expect(_ mood: Mood) {
    state.withLock { state in
      state.mood = mood
      state.arrivals = [:]
      state.putOff = nil
      state.left = []
    }
  }

  /// Forgets what the plugin saved, as a new store.
  func forget() { state.withLock { $0.saved = nil } }

  /// Serves until the connection ends.
  func serve(_ peer: JSONRPCConnection) async {
    for await request in peer.requests {
      do {
        try answer(request)
      } catch {
        state.withLock { $0.complaint = $0.complaint ?? error.message }
        request.fail(error)
      }
    }
    state.withLock { $0.unanswered = [] }
  }

  private func answer(_ request: IncomingRequest) throws(WireError) {
    switch request.method {
    case MessageReceived.method: try take(request)
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
    request.reply(reply)
  }

  private func keep(_ state: JSONValue?) throws(WireError) {
    guard let state else { return }
    guard JSONCoding.encode(state).count <= StateSave.maximumBytes else {
      throw WireError(.invalidParams, "state.save: the state is over \(ByteCount(StateSave.maximumBytes))")
    }
    self.state.withLock { $0.saved = state }
  }

  private func take(_ request: IncomingRequest) throws(WireError) {
    let message = try request.params(MessageReceived.self)
    let key = Key(conversation: message.conversation.id, id: message.id)
    switch note(message, key) {
    case .stores:
      try keep(message.state)
      request.reply(MessageReceived.Reply(stored: state.withLock { $0.stored.insert(key).inserted }))
    case .silent: state.withLock { $0.unanswered.append(request) }
    case .busy: request.fail(WireError(.busy, "the check is busy; send it again later"))
    }
  }

  /// - Returns: the answer.
  private func note(_ message: MessageReceived, _ key: Key) -> Mood {
    state.withLock { state in
      if let before = state.known[key] {
        if before.text != message.text, state.arrivals[key] != nil, state.mixUp == nil {
          let (one, other) = (before.text.debugDescription, message.text.debugDescription)
          state.mixUp = "message.received: the id \(key.id) came with the text \(one) and then with \(other)"
        }
      } else {
        let other = state.known.first { $0.value.isRepeated(by: message) && state.arrivals[$0.key] == nil }
        if let other, state.renaming == nil {
          let text = message.text.debugDescription
          state.renaming =
            "message.received: \(text) came with the id \(other.key.id) and, after a restart, with \(key.id)"
        }
        state.known[key] = message
      }
      state.arrivals[key, default: 0] += 1
      let mood = state.answer(to: key)
      if mood == .silent { state.left.insert(key) }
      return mood
    }
  }
}

extension MessageReceived {
  /// Recognises a message that can only be a repeat of this one.
  fileprivate func isRepeated(by other: MessageReceived) -> Bool {
    conversation.id == other.conversation.id && sender.id == other.sender.id && text == other.text
      && time == other.time && replyTo == other.replyTo
  }
}
