internal import AgentRuntime
internal import FoundationEssentials
internal import Logging
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import SessionStates

// The agent's transcript, in which a message is found that an earlier process of the agent may have taken.
extension Session {
  /// The end of the session's transcript, so that after a crash later entries can be told from earlier ones.
  func lastEntry(_ connection: PiConnection) async -> TranscriptPosition {
    guard facts.takesSessionID else { return .unknown }
    let last = transcript.lastEntry
    var answer = try? await connection.send(.getEntries(since: last), within: pi.answerTimeout)
    // The session may have been rewound from elsewhere.
    let wasRewound = answer?.success == false && last != nil
    if wasRewound { answer = try? await connection.send(.getEntries(since: nil), within: pi.answerTimeout) }
    guard let answer, answer.success else { return .unknown }
    return transcript.note(
      leaf: answer.leafID, wasRewound: wasRewound, isCurrent: self.connection === connection)
  }

  /// Looks once, before this process gives the session anything, which messages of earlier processes its transcript has, and
  /// stores that: later messages would look like them.
  ///
  /// - Returns: false when the agent has exited meanwhile, or nobody waits for it any more.
  func reconcileDispatched(_ connection: PiConnection) async -> Bool {
    var hasTold = false
    while !transcript.isReconciled {
      guard isTurnWanted else { return false }
      do {
        var found: [DispatchedMessage: TranscriptLookup] = [:]
        for (one, words) in try await dependencies.store.dispatching(to: id) {
          let lookup = await lookUp(after: one.position, connection)
          let provesNothing = lookup == .absent ? await mayBeCommandOfExtension(words) : false
          found[one] = provesNothing ? .inconclusive : lookup
          if current.hasReportedEnd || connection.hasEnded { return false }
        }
        let changes = found.mapValues { MessageLifecycle.change(of: $0) }
        try await dependencies.store.resolve(changes, in: id)
        transcript.reconcile(found)
      } catch {
        if !hasTold {
          logger.error("a message waits until it can be stored what the session has: \(error)")
          emit(.notice("⚠️ Your message waits: \(error)"))
        }
        hasTold = true
        guard await dependencies.timeSource.sleep(for: .seconds(1)) else { return false }
      }
    }
    return true
  }

  /// Looks in the transcript for a message that an earlier process of the agent may have taken.
  func lookUpTranscript(for prompt: Prompt, _ connection: PiConnection) async -> TranscriptLookup {
    var found = transcript.takeLookup(of: prompt.key)
    if found == nil { found = await lookUp(after: prompt.life.evidence.position, connection) }
    guard found == .absent, await mayBeCommandOfExtension(prompt.text) else { return found ?? .inconclusive }
    return .inconclusive
  }

  /// Looks in the transcript for a message of the person newer than `position`: then the agent had taken it.
  private func lookUp(after position: TranscriptPosition, _ connection: PiConnection) async -> TranscriptLookup {
    let entry: String?
    switch position {
    case .unknown: return .inconclusive
    case .empty: entry = nil
    case .after(let last): entry = last
    }
    guard facts.takesSessionID,
      let answer = try? await connection.send(.getEntries(since: entry), within: pi.answerTimeout), answer.success,
      let entries = try? answer.data(PiEntries.self)
    else { return .inconclusive }
    return entries.holdUserMessage ? .present : .absent
  }

  /// Such a command is carried out without an entry: that there is none proves nothing.
  private func mayBeCommandOfExtension(_ text: String) async -> Bool {
    guard text.hasPrefix("/") else { return false }
    guard let commands = await fetchCommands() else { return true }
    let name = text.dropFirst().prefix { !$0.isWhitespace }
    return commands.contains { $0.name == name && $0.source == "extension" }
  }
}
