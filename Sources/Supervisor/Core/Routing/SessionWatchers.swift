internal import FoundationEssentials
internal import PiRPC
internal import RelayPipes
internal import RelayStore
internal import RelayWire

/// Which conversations watch which session. Sessions tell it what happens, in order and without waiting.
final class SessionWatchers: Sendable {
  private let dialogs: DialogBroker
  private let watchers = Locked<[String: [ConversationKey: ConversationOutput]]>([:])
  /// Told of messages that have ended with nobody of their conversation watching any more.
  private let endedUnseen = Locked<(@Sendable (MessageEnd, RunEnd) -> Void)?>(nil)
  /// Told of questions over a message whose conversation watches no more.
  private let askedUnseen = Locked<(@Sendable (DialogRecord, ConversationKey) -> Void)?>(nil)

  /// Told when a conversation begins or ceases to watch, or a session's name or model is another.
  private let changed = Locked<(@Sendable () -> Void)?>(nil)

  init(dialogs: DialogBroker) {
    self.dialogs = dialogs
  }

  func whenEndedUnseen(_ told: @escaping @Sendable (MessageEnd, RunEnd) -> Void) {
    endedUnseen.withLock { $0 = told }
  }

  func whenAskedUnseen(_ told: @escaping @Sendable (DialogRecord, ConversationKey) -> Void) {
    askedUnseen.withLock { $0 = told }
  }

  func whenChanged(_ told: @escaping @Sendable () -> Void) { changed.withLock { $0 = told } }

  private func noteChange() { changed.withLock { $0 }?() }

  /// The sessions that an instance's conversations watch.
  func sessions(watchedFrom instance: String) -> Set<String> {
    watchers.withLock { watchers in
      Set(watchers.filter { $0.value.keys.contains { $0.instance == instance } }.keys)
    }
  }

  /// The conversation watches this session, and no other any more.
  func watch(_ session: String, _ key: ConversationKey, _ output: ConversationOutput) {
    let (hasMoved, isNew) = watchers.withLock { watchers in
      var hasMoved = false
      for other in watchers.keys where other != session {
        if watchers[other]?.removeValue(forKey: key) != nil { hasMoved = true }
      }
      let isNew = watchers[session]?[key] !== output
      watchers[session, default: [:]][key] = output
      return (hasMoved, isNew)
    }
    if hasMoved || isNew { noteChange() }
    if hasMoved { output.post(.detached) }
    // What is typed here from now on would answer them: they are to be seen.
    if isNew { for record in dialogs.all(of: session) { output.post(.ask(record)) } }
  }

  /// The conversation watches as it did before, and has been shown what is open.
  func adopt(_ session: String, _ key: ConversationKey, _ output: ConversationOutput) {
    watchers.withLock { $0[session, default: [:]][key] = output }
  }

  func session(of key: ConversationKey) -> String? {
    watchers.withLock { watchers in watchers.first { $0.value[key] != nil }?.key }
  }

  /// The conversation is gone for good.
  func drop(_ key: ConversationKey) {
    watchers.withLock { watchers in
      for session in watchers.keys { watchers[session]?[key] = nil }
    }
    noteChange()
  }

  /// Ends all watching of a session; answers who did.
  func forget(_ session: String) -> [ConversationKey] {
    defer { noteChange() }
    return watchers.withLock { watchers in
      (watchers.removeValue(forKey: session) ?? [:]).keys.map { $0 }
    }
  }

  private func post(_ item: ConversationOutput.Item, to session: String) {
    watchers.withLock { watchers in
      guard let outputs = watchers[session] else { return }
      for output in outputs.values { output.post(item) }
    }
  }

  func tell(_ session: String, _ event: SessionEvent) {
    switch event {
    case .dialogOpened(let dialog, let message):
      if DialogRecord.isOwn(dialog) {
        if dialogs.takeUp(dialog, session: session) { return }
        // Asked by the program before, in other words.
        endOwnQuestions(of: session, "asked anew")
      }
      let record = dialogs.open(dialog, session: session, now: Date().timeIntervalSince1970)
      post(.ask(record), to: session)
      if let key = message?.conversation, !isWatched(session, by: key) {
        askedUnseen.withLock { $0 }?(record, key)
      }
    case .dialogWithdrawn(let id, let why):
      guard let record = dialogs.withdraw(dialog: id, session: session) else { return }
      settle(record, .unanswered(why: "withdrawn: \(why)"))
    case .nameOrModelChanged: noteChange()
    case .questionsOver: endOwnQuestions(of: session, "settled by itself")
    case .runEnded(let message, let end, let stage):
      post(.event(event), to: session)
      if let message { noteUnseen(MessageEnd(message, stage, end.outcome), end, in: session) }
    case .messageTaken(let message):
      post(.event(event), to: session)
      noteUnseen(MessageEnd(message, .settled, .handled), .handled, in: session)
    case .messageWithdrawn(let message), .messageNotTaken(let message):
      post(.event(event), to: session)
      noteUnseen(MessageEnd(message, .dropped, .stopped), .aborted, in: session)
    default: post(.event(event), to: session)
    }
  }

  private func endOwnQuestions(of session: String, _ why: String) {
    for record in dialogs.all(of: session) where record.isOwn && dialogs.claim(record.id) != nil {
      settle(record, .unanswered(why: why))
    }
  }

  private func noteUnseen(_ end: MessageEnd, _ how: RunEnd, in session: String) {
    if !isWatched(session, by: end.key.conversation) { endedUnseen.withLock { $0 }?(end, how) }
  }

  private func isWatched(_ session: String, by key: ConversationKey) -> Bool {
    watchers.withLock { $0[session]?[key] != nil }
  }

  /// Whether words that are written in a conversation now answer a question.
  func asks(_ key: ConversationKey, _ words: String) -> Bool {
    session(of: key).flatMap { dialogs.first(of: $0) }?.takes(words) ?? false
  }

  func settle(_ record: DialogRecord, _ outcome: DialogRecord.Outcome) {
    post(.settleDialog(record, outcome), to: record.session)
  }
}
