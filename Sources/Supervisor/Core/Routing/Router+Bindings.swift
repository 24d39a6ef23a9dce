internal import AgentSessions
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayWire

// Which session a conversation talks to.
extension Router {
  func lookUp(_ key: ConversationKey) async -> Result<String?, any Error> {
    if let known = bound[key] { return .success(known) }
    do {
      var read = try await store.binding(of: key)
      // Earlier versions let a conversation choose a session that belongs to another.
      if let id = read, let session = await host.listing(id), !AddressableSessions.permits(session, to: key) {
        read = nil
      }
      // It may have been chosen meanwhile.
      if let known = bound[key] { return .success(known) }
      bound.updateValue(read, forKey: key)
      return .success(read)
    } catch {
      log("\(key): its session could not be looked up: \(error)")
      return .failure(error)
    }
  }

  /// The session that this conversation talks to, as far as there is one and it can be told.
  func binding(of key: ConversationKey) async -> String? {
    if case .success(let session) = await lookUp(key) { session } else { nil }
  }

  func boundSession(_ key: ConversationKey) async -> Session? {
    guard let id = await binding(of: key) else { return nil }
    return await host.session(id)
  }

  /// The sessions that the conversation may address.
  func addressable(from key: ConversationKey) async -> AddressableSessions {
    AddressableSessions(from: key, among: await host.all())
  }

  func session(of call: CommandCall) async -> Session? { await boundSession(call.key) }

  func bind(_ call: CommandCall, to session: Session) async {
    await bind(call.key, to: session, because: MessageKey(conversation: call.key, id: call.message.id))
  }

  /// - Parameter cause: the command that chose it: what was written before stays with the session it was for.
  func bind(_ key: ConversationKey, to session: Session, because cause: MessageKey? = nil) async {
    let conversation = places[key]?.conversation ?? Conversation(id: key.conversation, kind: .dm)
    do {
      try await store.bind(Binding(key: key, conversation: conversation, session: session.id), because: cause)
      bound.updateValue(session.id, forKey: key)
    } catch {
      log("\(key): the choice of a session could not be stored: \(error)")
    }
    await watch(session.id, key)
  }

  /// Shows in a conversation what happens in its session: everything, but where it shares the main session by its
  /// settings only what its own messages lead to.
  func watch(_ session: String, _ key: ConversationKey) async {
    let isMain = await binding(of: Self.main) == session
    guard let place = places[key] else { return }
    let isShared = isMain && place.holder.current.map { settings($0, place.conversation).use == .main } ?? false
    watchers.watch(session, key, place.output, isShared ? .ownRuns : .everything)
  }

  /// The conversation talks to no session from now on.
  func unbind(_ key: ConversationKey) async {
    await storeNoSession(of: key)
    if let output = places[key]?.output, watchers.session(of: key) != nil {
      watchers.drop(key)
      output.post(.detached)
    }
  }

  /// The session is closed: nobody talks to it any more. Who does not look on now is told with the next message.
  ///
  /// - Parameter closer: the conversation that closed it, and knows.
  func forget(_ session: Session, closedBy closer: ConversationKey? = nil) async {
    let name = await session.name
    let others = watchers.forget(session.id).filter { $0 != closer }
    for key in others + (closer.map { [$0] } ?? []) {
      await storeNoSession(of: key, from: session.id)
    }
    // An assistant's session that has timed out is followed by the next without a word.
    for key in others where session.role == nil {
      let next = beginsByWriting(key) ? "Your next message begins another." : Self.choice
      await say("The session \(name) was closed elsewhere. \(next)", to: key)
    }
  }

  /// True where a message begins a session if there is none.
  func beginsByWriting(_ key: ConversationKey) -> Bool {
    guard let place = places[key], let link = place.holder.current else { return true }
    return settings(link, place.conversation).use != .control
  }

  /// Stores that a conversation talks to no session.
  ///
  /// - Parameter session: only where it still is this one; nil: whichever it is.
  func storeNoSession(of key: ConversationKey, from session: String? = nil) async {
    do {
      try await store.unbind(key, from: session)
      // It may have turned to another meanwhile.
      if session == nil || bound[key] == .some(session) { bound.updateValue(nil, forKey: key) }
    } catch {
      log("\(key): that it talks to no session could not be stored: \(error)")
    }
  }
}
