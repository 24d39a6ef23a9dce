internal import AgentRuntime
internal import Logging
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import SessionStates

/// The search in the agent's transcript, which proves whether an earlier process of the agent took a message. Belongs to the
/// session's actor.
final class TranscriptSearch {
  private var cursor: TranscriptCursor
  private let context: SessionContext

  /// - Parameter isRestored: an earlier process may have given messages to the agent.
  init(_ context: SessionContext, isRestored: Bool) {
    self.context = context
    cursor = TranscriptCursor(isRestored: isRestored)
  }

  /// The last entry when it was last asked for.
  var lastEntry: String? { cursor.lastEntry }

  /// Continues with the agent of an earlier process.
  func adopt(lastEntry: String?) { cursor.adopt(lastEntry: lastEntry) }

  /// Notes that the transcript was cleared.
  func clear() { cursor.clear() }

  /// Forgets a result, which proves nothing about a message that was given again since.
  func forgetLookup(of message: MessageKey) { cursor.forgetLookup(of: message) }

  /// Asks the agent for the end of the session's transcript, so that after a crash later entries can be told from earlier ones.
  func askForPosition(_ connection: PiConnection, for session: isolated Session) async -> TranscriptPosition {
    guard session.agent.facts.takesSessionID else { return .unknown }
    let last = cursor.lastEntry
    var answer = await entries(since: last, connection)
    // The session may have been rewound from elsewhere.
    let wasRewound = answer?.success == false && last != nil
    if wasRewound { answer = await entries(since: nil, connection) }
    guard let answer, answer.success else { return .unknown }
    return cursor.note(
      leaf: answer.leafID, wasRewound: wasRewound, isCurrent: session.connection === connection)
  }

  private nonisolated(nonsending) func entries(since entry: String?, _ connection: PiConnection) async -> PiResponse? {
    try? await connection.send(.getEntries(since: entry), within: context.pi.answerTimeout)
  }

  /// Looks once, before this process gives the session anything, which messages of earlier processes its transcript has, and
  /// stores that: later messages would look like them.
  ///
  /// - Returns: false when the agent has exited meanwhile, or nobody waits for it any more.
  func reconcileDispatched(_ connection: PiConnection, for session: isolated Session) async -> Bool {
    let dependencies = context.dependencies
    let id = context.record.id
    var hasTold = false
    while !cursor.isReconciled {
      guard session.isTurnWanted else { return false }
      do {
        var found: [DispatchedMessage: TranscriptLookup] = [:]
        for (one, words) in try await dependencies.store.dispatching(to: id) {
          let lookup = await lookUp(after: one.position, connection, session.agent)
          let provesNothing = lookup == .absent ? await mayBeCommandOfExtension(words, session.agent) : false
          found[one] = provesNothing ? .inconclusive : lookup
          if session.current.hasReportedEnd || connection.hasEnded { return false }
        }
        try await dependencies.store.resolve(found.mapValues { MessageLifecycle.change(of: $0) }, in: id)
        cursor.reconcile(found)
      } catch {
        if !hasTold {
          session.logger.error("a message waits until the results of the look-up can be stored: \(error)")
          context.emit(.notice("⚠️ Your message waits: \(error)"))
        }
        hasTold = true
        guard await dependencies.timeSource.sleep(for: .seconds(1)) else { return false }
      }
    }
    return true
  }

  /// Looks in the transcript for a message that an earlier process of the agent may have taken.
  nonisolated(nonsending) func lookUp(
    _ prompt: Prompt, _ connection: PiConnection, _ agent: SessionAgent
  ) async -> TranscriptLookup {
    var found = cursor.takeLookup(of: prompt.key)
    if found == nil { found = await lookUp(after: prompt.life.evidence.position, connection, agent) }
    guard found == .absent, await mayBeCommandOfExtension(prompt.text, agent) else { return found ?? .inconclusive }
    return .inconclusive
  }

  /// Looks in the transcript for a message of the person newer than `position`: then the agent had taken it.
  private nonisolated(nonsending) func lookUp(
    after position: TranscriptPosition, _ connection: PiConnection, _ agent: SessionAgent
  ) async -> TranscriptLookup {
    let entry: String?
    switch position {
    case .unknown: return .inconclusive
    case .empty: entry = nil
    case .after(let last): entry = last
    }
    // pi in a terminal, which has no session id of the daemon's, has outlived the connection: it may hold the message in its
    // queue, and a message in the transcript may have been typed.
    guard agent.facts.takesSessionID, let answer = await entries(since: entry, connection), answer.success,
      let entries = try? answer.data(PiEntries.self)
    else { return .inconclusive }
    return entries.holdUserMessage ? .present : .absent
  }

  /// Such a command is carried out without an entry: that there is none proves nothing.
  private nonisolated(nonsending) func mayBeCommandOfExtension(_ text: String, _ agent: SessionAgent) async -> Bool {
    guard text.hasPrefix("/") else { return false }
    guard let commands = await agent.commands() else { return true }
    let name = text.dropFirst().prefix { !$0.isWhitespace }
    return commands.contains { $0.name == name && $0.source == "extension" }
  }
}
