package import RelayConcurrency
package import RelayModel
package import SessionStates

/// Which conversations watch which session. Sessions tell it what happens, in order and without waiting.
package final class SessionSubscriptions: Sendable {
  /// How much of a session a conversation is shown.
  package enum Scope: String, Codable {
    case everything
    /// Runs that its own messages began or went into.
    case ownRuns
  }

  /// The one session that a conversation watches.
  private struct Watch {
    let session: String
    let scope: Scope
  }

  private struct Watched {
    /// The conversations that watch it: nearly always one, for which an array is much smaller than a set.
    var watchers: [ConversationKey] = []
    /// Where the messages of the run in progress came from; between runs, of the last.
    var origins: Set<ConversationKey> = []
    /// Told everything, each under its number; nearly always none.
    var observers: [(number: Int, told: @Sendable (OutputEvent) -> Void)] = []
  }

  private struct State {
    var watched: [String: Watched] = [:]
    var watches: [ConversationKey: Watch] = [:]
    var nextObserver = 0

    func shows(_ session: String, to key: ConversationKey) -> Bool {
      guard let watch = watches[key], watch.session == session else { return false }
      return watch.scope == .everything || watched[session]?.origins.contains(key) == true
    }

    mutating func dropUnwatched(_ session: String) {
      guard let one = watched[session], one.watchers.isEmpty, one.observers.isEmpty else { return }
      watched[session] = nil
    }

    /// - Returns: the session that the conversation watched before.
    mutating func set(_ key: ConversationKey, _ session: String, _ scope: Scope) -> String? {
      let before = watches.updateValue(Watch(session: session, scope: scope), forKey: key)?.session
      guard before != session else { return before }
      if let before { watched[before]?.watchers.removeAll { $0 == key } }
      watched[session, default: Watched()].watchers.append(key)
      return before
    }
  }

  /// A structure, because a closure stored directly in a generic value is wrapped again at each access in place.
  private struct Receivers {
    var endedUnseen: (@Sendable (MessageEnd, RunEnd) -> Void)?
    var askedUnseen: (@Sendable (PendingQuestion, ConversationKey) -> Void)?
    var changed: (@Sendable () -> Void)?
  }

  private let questions: QuestionRegistry
  private let state = Locked(State())
  private let post: @Sendable (OutputEvent, ConversationKey) -> Void
  private let receivers = Locked(Receivers())
  private let timeSource: TimeSource

  /// - Parameter post: queues an event for a conversation; must not wait. The conversation need not have an output
  ///   before.
  package init(
    questions: QuestionRegistry, timeSource: TimeSource,
    post: @escaping @Sendable (OutputEvent, ConversationKey) -> Void
  ) {
    self.questions = questions
    self.timeSource = timeSource
    self.post = post
  }

  /// Sets the receiver of messages that have ended with nobody of their conversation watching any more.
  package func whenEndedUnseen(_ told: @escaping @Sendable (MessageEnd, RunEnd) -> Void) {
    receivers.withLock { $0.endedUnseen = told }
  }

  /// Sets the receiver of questions over a message whose conversation watches no more.
  package func whenAskedUnseen(_ told: @escaping @Sendable (PendingQuestion, ConversationKey) -> Void) {
    receivers.withLock { $0.askedUnseen = told }
  }

  /// Sets the action for when a conversation begins or ceases to watch, or a session's name or model is another.
  package func whenChanged(_ told: @escaping @Sendable () -> Void) { receivers.withLock { $0.changed = told } }

  private func noteChange() { receivers.withLock { $0.changed }?() }

  /// The sessions that an instance's conversations watch.
  package func sessions(watchedFrom instance: String) -> Set<String> {
    state.withLock { state in Set(state.watches.lazy.filter { $0.key.instance == instance }.map(\.value.session)) }
  }

  /// The conversation watches this session, and no other any more.
  package func watch(_ session: String, _ key: ConversationKey, _ scope: Scope) {
    let (hasMoved, isNew) = state.withLock { state in
      let known = state.shows(session, to: key)
      let before = state.set(key, session, scope)
      return (before != nil && before != session, !known && state.shows(session, to: key))
    }
    if hasMoved || isNew { noteChange() }
    if hasMoved { post(.detached, key) }
    // Words typed here from now on would answer the open questions, so these are shown.
    if isNew { for record in questions.all(of: session) { post(.ask(record), key) } }
  }

  /// The conversation watches as it did before, and has been shown what is open.
  package func adopt(_ session: String, _ key: ConversationKey, _ view: View) {
    state.withLock { state in
      _ = state.set(key, session, view.scope)
      if view.isOrigin { state.watched[session]?.origins.insert(key) }
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
    state.withLock { state in
      guard let watch = state.watches[key] else { return View() }
      return View(scope: watch.scope, isOrigin: state.watched[watch.session]?.origins.contains(key) == true)
    }
  }

  // MARK: - Observers

  /// Tells a program everything that happens in a session, in order, until `endObservation` or the session is closed.
  ///
  /// - Parameter told: called under a lock; must not wait, nor call back.
  /// - Returns: the number of the observation.
  package func observe(_ session: String, _ told: @escaping @Sendable (OutputEvent) -> Void) -> Int {
    state.withLock { state in
      state.nextObserver += 1
      state.watched[session, default: Watched()].observers.append((state.nextObserver, told))
      return state.nextObserver
    }
  }

  package func endObservation(_ number: Int, of session: String) {
    state.withLock { state in
      state.watched[session]?.observers.removeAll { $0.number == number }
      state.dropUnwatched(session)
    }
  }

  private func tellObservers(of session: String, _ event: SessionEvent) {
    state.withLock { state in
      for one in state.watched[session]?.observers ?? [] { one.told(.event(event)) }
      guard event == .closed else { return }
      state.watched[session]?.observers = []
      state.dropUnwatched(session)
    }
  }

  package func session(of key: ConversationKey) -> String? { state.withLock { $0.watches[key]?.session } }

  /// The conversation is gone for good.
  package func drop(_ key: ConversationKey) {
    state.withLock { state in
      guard let watch = state.watches.removeValue(forKey: key) else { return }
      state.watched[watch.session]?.watchers.removeAll { $0 == key }
    }
    noteChange()
  }

  /// Ends all watching of a session; answers who did.
  package func forget(_ session: String) -> [ConversationKey] {
    defer { noteChange() }
    return state.withLock { state in
      let keys = state.watched[session]?.watchers ?? []
      for key in keys { state.watches[key] = nil }
      let observers = state.watched.removeValue(forKey: session)?.observers ?? []
      // A session that no conversation watches any more may live on.
      if !observers.isEmpty { state.watched[session] = Watched(observers: observers) }
      return keys
    }
  }

  /// - Parameter message: concerns its conversation in any case.
  private func post(_ item: OutputEvent, to session: String, about message: MessageKey? = nil) {
    // Within the lock: a conversation that turns away is shown nothing more of this session.
    state.withLock { state in
      guard let watched = state.watched[session] else { return }
      for key in watched.watchers
      where state.shows(session, to: key) || key == message?.conversation { post(item, key) }
      for one in watched.observers { one.told(item) }
    }
  }

  private func note(_ event: SessionEvent, of session: String) {
    state.withLock { state in
      switch event {
      case .runStarted(let message?, _): state.watched[session]?.origins = [message.conversation]
      case .messageTaken(let message): state.watched[session]?.origins.insert(message.key.conversation)
      case .messageMayBeTaken(let message): state.watched[session]?.origins.insert(message.conversation)
      default: break
      }
    }
  }

  package func tell(_ session: String, _ event: SessionEvent) {
    note(event, of: session)
    switch event {
    case .dialogOpened(let question, let message):
      if case .supervisor(.approval(let approval)) = question.origin {
        let record = questions.open(question, session: session, now: timeSource.wallTime())
        return post(.ask(record), approval.requester.conversation)
      }
      if question.origin != .agent {
        if questions.keepShown(question.dialog, session: session) { return }
        // Asked by the program before, in other words.
        endOwnQuestions(of: session, "asked again")
      }
      let record = questions.open(question, session: session, now: timeSource.wallTime())
      post(.ask(record), to: session)
      if let key = message?.conversation, !isWatched(session, by: key) {
        receivers.withLock { $0.askedUnseen }?(record, key)
      }
    case .dialogWithdrawn(let id, let why):
      guard let record = questions.withdraw(dialog: id, session: session) else { return }
      settleQuestion(record, .unanswered(why: (record.approval == nil ? "withdrawn: " : "denied: ") + why))
    case .nameOrModelChanged:
      noteChange()
      tellObservers(of: session, event)
    case .closed: tellObservers(of: session, event)
    case .questionsOver: endOwnQuestions(of: session, "no longer needed")
    case .runEnded(let message, let end):
      post(.event(event), to: session, about: message.key)
      noteUnseen(message, end, in: session)
    case .messageTaken(let message):
      post(.event(event), to: session)
      noteUnseen(message, .handled, in: session)
    case .messageDropped(let message), .messageNotTaken(let message):
      post(.event(event), to: session, about: message.key)
      noteUnseen(message, .aborted, in: session)
    default: post(.event(event), to: session)
    }
  }

  private func endOwnQuestions(of session: String, _ why: String) {
    for record in questions.all(of: session) where record.isFromSupervisor && questions.claim(record.id) != nil {
      settleQuestion(record, .unanswered(why: why))
    }
  }

  private func noteUnseen(_ end: MessageEnd, _ how: RunEnd, in session: String) {
    if !isWatched(session, by: end.key.conversation) { receivers.withLock { $0.endedUnseen }?(end, how) }
  }

  private func isWatched(_ session: String, by key: ConversationKey) -> Bool {
    state.withLock { $0.watches[key]?.session == session }
  }

  /// The conversation is shown what happens in the session now.
  package func shows(_ session: String, to key: ConversationKey) -> Bool {
    state.withLock { $0.shows(session, to: key) }
  }

  /// The question that these words, written in a conversation now, answer.
  package func question(to key: ConversationKey, _ words: String) -> PendingQuestion? {
    guard let session = session(of: key), shows(session, to: key), let record = questions.first(of: session),
      record.takes(words)
    else { return nil }
    return record
  }

  package func settleQuestion(_ record: PendingQuestion, _ outcome: PendingQuestion.Outcome) {
    if let approval = record.approval { return post(.settleDialog(record, outcome), approval.requester.conversation) }
    post(.settleDialog(record, outcome), to: record.session)
  }
}
