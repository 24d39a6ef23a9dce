package import AgentSessions
internal import ChatCommands
package import Conversations
internal import FoundationEssentials
package import Logging
package import Pairings
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
package import RelayModel
package import RelayStore
internal import RelayWire
package import SessionCatalog

/// The session that each conversation talks to: stored, cached, and shown in the conversation.
package final class SessionBindings: Sendable {
  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let directory: ConversationDirectory
  private let people: PairedPeople
  private let subscriptions: SessionSubscriptions
  private let logger: Logger
  private let cache = BindingCache()
  private let turned = Locked(Turned())

  /// A structure, because a closure stored directly in a generic value is wrapped again at each access in place.
  private struct Turned { var receiver: (@Sendable (ConversationKey, String?) async -> Void)? }

  /// The conversation that the shared main session is bound to; no messenger's instance has such a name.
  package static let main = ConversationKey(instance: "main", conversation: "main")

  package init(
    store: SQLiteStore, sessions: SessionRegistry, directory: ConversationDirectory, people: PairedPeople,
    subscriptions: SessionSubscriptions, logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.directory = directory
    self.people = people
    self.subscriptions = subscriptions
    self.logger = logger
  }

  /// Sets the receiver of conversations that talk to another session from now on, or to none.
  package func whenTurned(_ told: @escaping @Sendable (ConversationKey, String?) async -> Void) {
    turned.withLock { $0.receiver = told }
  }

  private func noteTurn(_ key: ConversationKey) async {
    guard let receiver = turned.withLock({ $0.receiver }) else { return }
    await receiver(key, await id(of: key))
  }

  // MARK: - Looking up

  func lookUp(_ key: ConversationKey) async -> Result<String?, any Error> {
    do {
      let session = try await cache.session(of: key) {
        let stored = try await store.binding(of: key)
        // Earlier versions let a conversation choose a session that belongs to another.
        if let id = stored, let session = await sessions.listing(id), !AddressableSessions.permits(session, to: key) {
          return nil
        }
        return stored
      }
      return .success(session)
    } catch {
      logger.with(key).error("its session could not be looked up: \(error)")
      return .failure(error)
    }
  }

  /// The id of the session that this conversation talks to; `nil` also where that cannot be read.
  package func id(of key: ConversationKey) async -> String? {
    if case .success(let session) = await lookUp(key) { session } else { nil }
  }

  package func session(of key: ConversationKey) async -> Session? {
    guard let id = await id(of: key) else { return nil }
    return await sessions.session(id)
  }

  /// The session as lists show it. A sleeping session keeps sleeping.
  package func listing(of key: ConversationKey) async -> SessionListing? {
    guard let id = await id(of: key) else { return nil }
    return await sessions.listing(id)
  }

  /// The session while it is awake; `nil` while it sleeps, because its agent has nothing to report then.
  package func awakeSession(of key: ConversationKey) async -> Session? {
    guard let id = await id(of: key) else { return nil }
    return await sessions.awake(id)
  }

  /// The sessions that the conversation may address.
  package func addressable(from key: ConversationKey) async -> AddressableSessions {
    AddressableSessions(from: key, with: rights(of: key), among: await sessions.all())
  }

  /// While the messenger is away, only pairings count.
  package func rights(of key: ConversationKey) -> ConversationRights {
    let access = directory.link(key.instance)?.messenger?.access
    return people.rights(in: key) { access?.admits($0) ?? false }
  }

  // MARK: - Changing

  /// - Parameter cause: the command that chose it: messages from before it stay with the session they were for.
  package func bind(_ key: ConversationKey, to session: Session, because cause: MessageKey? = nil) async {
    let conversation = directory.conversation(key) ?? Conversation(id: key.conversation, kind: .dm)
    do {
      try await cache.change(key, .bind(session.id)) {
        try await store.bind(Binding(key: key, conversation: conversation, session: session.id), because: cause)
      }
    } catch {
      logger.with(key).with("session", session.id).error("the choice of a session could not be stored: \(error)")
    }
    await noteTurn(key)
    await watch(session.id, key)
  }

  /// Shows in a conversation what happens in its session: everything, except where the conversation shares the main session by
  /// its configuration; then only the runs that its own messages begin.
  package func watch(_ session: String, _ key: ConversationKey) async {
    let isMain = await id(of: Self.main) == session
    guard let conversation = directory.conversation(key) else { return }
    let isShared = isMain && directory.link(key.instance)?.settings(of: conversation).use == .main
    subscriptions.watch(session, key, isShared ? .ownRuns : .everything)
  }

  /// The conversation talks to no session from now on.
  ///
  /// - Parameter session: only where it talks to this one; `nil`: whichever it is.
  package func unbind(_ key: ConversationKey, from session: String? = nil) async {
    await storeNoSession(of: key, from: session)
    if let watched = subscriptions.session(of: key), session == nil || watched == session {
      subscriptions.drop(key)
      directory[key]?.output.post(.detached)
    }
  }

  /// Unbinds the conversations of a closed session, and tells them.
  ///
  /// - Parameter closer: the conversation that closed the session, which is not told.
  package func unbindAll(from session: Session, closedBy closer: ConversationKey? = nil) async {
    await endPairings(with: session.id)
    let name = await session.name
    let others = subscriptions.forget(session.id).filter { $0 != closer }
    for key in others + (closer.map { [$0] } ?? []) { await storeNoSession(of: key, from: session.id) }
    // An assistant's session that has timed out is followed by the next without a word.
    for key in others where session.role == nil {
      let next = beginsByWriting(key) ? "Your next message starts another." : SessionMenu.advice
      directory.say("The session \(name) was closed elsewhere. \(next)", to: key)
    }
  }

  /// Unbinds conversations from a closed session without telling them.
  package func unbind(_ conversations: [ConversationKey], from session: String) async {
    await endPairings(with: session)
    _ = subscriptions.forget(session)
    for key in conversations { await storeNoSession(of: key, from: session) }
  }

  /// The session is closed, and nobody can be paired with it any more.
  private func endPairings(with session: String) async {
    let pairings = people.active.filter { $0.session == session }
    guard !pairings.isEmpty else { return }
    do {
      try await people.end(pairings, as: .revoked)
    } catch {
      logger.with("session", session).error("the end of pairings with a closed session was not stored: \(error)")
    }
  }

  /// The people who are paired with a session are paired with another in its place.
  package func movePairings(from session: String, to successor: String) async throws {
    let pairings = people.active.filter { $0.session == session }
    guard !pairings.isEmpty else { return }
    let successors = pairings.map { pairing in
      var moved = pairing
      (moved.id, moved.session) = (UUID().uuidString, successor)
      return moved
    }
    try await people.end(pairings, as: .moved, successors: successors)
  }

  /// Forgets the bindings of an instance that will not be back.
  package func forget(instance: String) { cache.forget(instance: instance) }

  /// Reports whether a message begins a session where there is none.
  package func beginsByWriting(_ key: ConversationKey) -> Bool {
    guard let conversation = directory.conversation(key), let link = directory.link(key.instance) else { return true }
    return link.settings(of: conversation).use != .control
  }

  /// - Parameter session: unbinds only from this one; `nil`: from any.
  private func storeNoSession(of key: ConversationKey, from session: String? = nil) async {
    do {
      try await cache.change(key, session.map { .unbindFrom($0) } ?? .unbind) {
        try await store.unbind(key, from: session)
      }
    } catch {
      logger.with(key).error("the end of its binding to a session was not stored: \(error)")
    }
    await noteTurn(key)
  }
}
