package import AgentSessions
package import RelayConcurrency
package import RelayModel

/// Which conversations watch which session. Sessions tell it what happens, in order and without waiting.
package final class SessionSubscriptions: Sendable {
  /// How much of a session a conversation is shown.
  package enum Scope: String, Codable {
    case everything
    /// Runs that its own messages began or went into.
    case ownRuns
  }

  private struct Watcher {
    let output: ConversationOutput
    var scope: Scope
  }

  private struct Watched {
    var watchers: [ConversationKey: Watcher] = [:]
    /// Where the messages of the run in progress came from; between runs, of the last.
    var origins: Set<ConversationKey> = []

    func shows(_ key: ConversationKey) -> Bool {
      watchers[key].map { $0.scope == .everything || origins.contains(key) } ?? false
    }
  }

  private let dialogs: QuestionRegistry
  private let watched = Locked<[String: Watched]>([:])
  /// Told of messages that have ended with nobody of their conversation watching any more.
  private let endedUnseen = Locked<(@Sendable (MessageEnd, RunEnd) -> Void)?>(nil)
  /// Told of questions over a message whose conversation watches no more.
  private let askedUnseen = Locked<(@Sendable (PendingQuestion, ConversationKey) -> Void)?>(nil)

  private let timekeeper: Timekeeper

  /// Told when a conversation begins or ceases to watch, or a session's name or model is another.
  private let changed = Locked<(@Sendable () -> Void)?>(nil)

  package init(dialogs: QuestionRegistry, timekeeper: Timekeeper) {
    self.dialogs = dialogs
    self.timekeeper = timekeeper
  }

  package func whenEndedUnseen(_ told: @escaping @Sendable (MessageEnd, RunEnd) -> Void) {
    endedUnseen.withLock { $0 = told }
  }

  package func whenAskedUnseen(_ told: @escaping @Sendable (PendingQuestion, ConversationKey) -> Void) {
    askedUnseen.withLock { $0 = told }
  }

  package func whenChanged(_ told: @escaping @Sendable () -> Void) { changed.withLock { $0 = told } }

  private func noteChange() { changed.withLock { $0 }?() }

  /// The sessions that an instance's conversations watch.
  package func sessions(watchedFrom instance: String) -> Set<String> {
    watched.withLock { watched in
      Set(watched.filter { $0.value.watchers.keys.contains { $0.instance == instance } }.keys)
    }
  }

  /// The conversation watches this session, and no other any more.
  package func watch(_ session: String, _ key: ConversationKey, _ output: ConversationOutput, _ scope: Scope) {
    let (hasMoved, isNew) = watched.withLock { watched in
      var hasMoved = false
      for other in watched.keys where other != session {
        if watched[other]?.watchers.removeValue(forKey: key) != nil { hasMoved = true }
      }
      let known = watched[session]?.watchers[key]?.output === output && watched[session]?.shows(key) == true
      watched[session, default: Watched()].watchers[key] = Watcher(output: output, scope: scope)
      return (hasMoved, !known && watched[session]?.shows(key) == true)
    }
    if hasMoved || isNew { noteChange() }
    if hasMoved { output.post(.detached) }
    // Words typed here from now on would answer the open questions, so these are shown.
    if isNew { for record in dialogs.all(of: session) { output.post(.ask(record)) } }
  }

  /// The conversation watches as it did before, and has been shown what is open.
  package func adopt(_ session: String, _ key: ConversationKey, _ output: ConversationOutput, _ view: View) {
    watched.withLock { watched in
      watched[session, default: Watched()].watchers[key] = Watcher(output: output, scope: view.scope)
      if view.isOrigin { watched[session]?.origins.insert(key) }
    }
  }

  /// The part of its session that a conversation is shown.
  package struct View: Codable {
    var scope = Scope.everything
    /// The run in progress is its own, or the last was.
    var isOrigin = false

    package init(scope: Scope = .everything, isOrigin: Bool = false) {
      self.scope = scope
      self.isOrigin = isOrigin
    }
  }

  package func view(of key: ConversationKey) -> View {
    watched.withLock { watched in
      guard let one = watched.values.first(where: { $0.watchers[key] != nil }), let watcher = one.watchers[key] else {
        return View()
      }
      return View(scope: watcher.scope, isOrigin: one.origins.contains(key))
    }
  }

  package func session(of key: ConversationKey) -> String? {
    watched.withLock { watched in watched.first { $0.value.watchers[key] != nil }?.key }
  }

  /// The conversation is gone for good.
  package func drop(_ key: ConversationKey) {
    watched.withLock { watched in
      for session in watched.keys { watched[session]?.watchers[key] = nil }
    }
    noteChange()
  }

  /// Ends all watching of a session; answers who did.
  package func forget(_ session: String) -> [ConversationKey] {
    defer { noteChange() }
    return watched.withLock { watched in
      watched.removeValue(forKey: session)?.watchers.keys.map { $0 } ?? []
    }
  }

  /// - Parameter message: concerns its conversation in any case.
  private func post(_ item: OutputEvent, to session: String, about message: MessageKey? = nil) {
    watched.withLock { watched in
      guard let one = watched[session] else { return }
      for (key, watcher) in one.watchers where one.shows(key) || key == message?.conversation {
        watcher.output.post(item)
      }
    }
  }

  private func note(_ event: SessionEvent, of session: String) {
    watched.withLock { watched in
      switch event {
      case .runStarted(let message?, _): watched[session]?.origins = [message.conversation]
      case .messageTaken(let message), .messageMayBeTaken(let message):
        watched[session]?.origins.insert(message.conversation)
      default: break
      }
    }
  }

  package func tell(_ session: String, _ event: SessionEvent) {
    note(event, of: session)
    switch event {
    case .dialogOpened(let question, let message):
      if question.origin != .agent {
        if dialogs.takeUp(question.dialog, session: session) { return }
        // Asked by the program before, in other words.
        endOwnQuestions(of: session, "asked anew")
      }
      let record = dialogs.open(question, session: session, now: timekeeper.wallTime())
      post(.ask(record), to: session)
      if let key = message?.conversation, !isWatched(session, by: key) {
        askedUnseen.withLock { $0 }?(record, key)
      }
    case .dialogWithdrawn(let id, let why):
      guard let record = dialogs.withdraw(dialog: id, session: session) else { return }
      settle(record, .unanswered(why: "withdrawn: \(why)"))
    case .nameOrModelChanged: noteChange()
    case .questionsOver: endOwnQuestions(of: session, "settled by itself")
    case .runEnded(let message, let end, let conclusion):
      post(.event(event), to: session, about: message)
      if let message { noteUnseen(MessageEnd(message, conclusion, outcome: end.outcome), end, in: session) }
    case .messageTaken(let message):
      post(.event(event), to: session)
      noteUnseen(MessageEnd(message, .takenIntoRun), .handled, in: session)
    case .messageWithdrawn(let message), .messageNotTaken(let message):
      post(.event(event), to: session, about: message)
      noteUnseen(MessageEnd(message, .withdrawn), .aborted, in: session)
    default: post(.event(event), to: session)
    }
  }

  private func endOwnQuestions(of session: String, _ why: String) {
    for record in dialogs.all(of: session) where record.isFromSupervisor && dialogs.claim(record.id) != nil {
      settle(record, .unanswered(why: why))
    }
  }

  private func noteUnseen(_ end: MessageEnd, _ how: RunEnd, in session: String) {
    if !isWatched(session, by: end.key.conversation) { endedUnseen.withLock { $0 }?(end, how) }
  }

  private func isWatched(_ session: String, by key: ConversationKey) -> Bool {
    watched.withLock { $0[session]?.watchers[key] != nil }
  }

  /// The conversation is shown what happens in the session now.
  package func shows(_ session: String, to key: ConversationKey) -> Bool {
    watched.withLock { $0[session]?.shows(key) == true }
  }

  /// The question that these words, written in a conversation now, answer.
  package func question(to key: ConversationKey, _ words: String) -> PendingQuestion? {
    guard let session = session(of: key), shows(session, to: key), let record = dialogs.first(of: session),
      record.takes(words)
    else { return nil }
    return record
  }

  package func settle(_ record: PendingQuestion, _ outcome: PendingQuestion.Outcome) {
    post(.settleDialog(record, outcome), to: record.session)
  }
}
