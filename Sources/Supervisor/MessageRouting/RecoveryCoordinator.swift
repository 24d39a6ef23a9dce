internal import AgentSessions
internal import ChatCommands
internal import ConversationSessions
internal import Conversations
internal import Logging
internal import Pairings
internal import PluginRuntime
internal import ProgramSessions
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayWire
internal import SessionCatalog
internal import SessionStates

/// Continues the work that an earlier daemon, or the predecessor of this process, left unfinished. The work of each
/// messenger is continued when the messenger connects.
actor RecoveryCoordinator {
  /// The unfinished work of one instance.
  struct Unfinished: Sendable {
    var outbound: [UnfinishedOutbound]
    var messages: [UnfinishedMessage]
    /// Ends that were not reported to the messenger yet.
    var untold: [MessageEnd]
  }

  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let directory: ConversationDirectory
  private let bindings: SessionBindings
  private let dispatcher: MessageDispatcher
  private let programs: ProgramRecovery
  private let redaction: Redactor
  private let logger: Logger
  private var progress = RecoveryProgress()
  /// Read before this program went on with what the earlier one handed over, whose own work is not among it.
  private var handedOver: [String: Unfinished] = [:]

  init(
    store: SQLiteStore, sessions: SessionRegistry, directory: ConversationDirectory, bindings: SessionBindings,
    dispatcher: MessageDispatcher, programs: ProgramRecovery, redaction: Redactor, logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.directory = directory
    self.bindings = bindings
    self.dispatcher = dispatcher
    self.programs = programs
    self.redaction = redaction
    self.logger = logger
  }

  // MARK: - Taking up

  /// Continues the unfinished work of an instance's conversations in its original order; once for each daemon.
  func recover(_ link: PluginConnection) async {
    guard progress.begin(link.name) else { return }
    do {
      let stored = try await store.bindings(of: link.name)
      let left =
        if let before = handedOver.removeValue(forKey: link.name) {
          before
        } else {
          try await unfinished(of: link.name)
        }
      for binding in stored { directory.remember(binding.key, binding.conversation, link) }
      for one in left.outbound { output(one.record.conversation, link).post(.resume(one)) }
      for end in left.untold { output(end.key.conversation, link).post(.tell(end)) }
      // After the unfinished sends: new events of the session come behind them.
      for binding in stored {
        await watchAgain(binding)
        programs.report(binding.session, to: binding.key)
      }
      for message in left.messages {
        directory.context(message.stored.key.conversation, message.stored.message.conversation, link)
          .inbox.post(.recovered(message, link))
      }
      progress.finish(link.name)
      if !left.outbound.isEmpty || !left.messages.isEmpty {
        logger.with("instance", link.name).notice(
          "\(left.messages.count) message(s) and \(left.outbound.count) send(s) were left unfinished, and are continued"
        )
      }
    } catch {
      // Not tried again by this daemon, which could not tell its own work from that of the last.
      logger.with("instance", link.name).error(
        "the unfinished work could not be read, and waits for the next start: \(error)")
    }
  }

  /// Continues the messages of programs, which no messenger brings. Must be called after the sessions have continued, and
  /// before a program can send another message. Awaits no write.
  func recoverPrograms() async throws {
    let instance = ConversationKey.programs
    let before = handedOver.removeValue(forKey: instance)
    let left = if let before { before } else { try await unfinished(of: instance) }
    await programs.recover(left.messages, untold: left.untold)
  }

  private func output(_ key: ConversationKey, _ link: PluginConnection) -> ConversationOutput {
    let conversation = directory.conversation(key) ?? Conversation(id: key.conversation, kind: .dm)
    return directory.context(key, conversation, link).output
  }

  private func watchAgain(_ binding: Binding) async {
    guard let session = await sessions.listing(binding.session),
      AddressableSessions.permits(session, to: binding.key, with: bindings.rights(of: binding.key))
    else { return }
    await bindings.watch(session.id, binding.key)
  }

  /// True once everything unfinished of these instances is in its queue.
  func isFinished(_ instances: some Sequence<String>) -> Bool { instances.allSatisfy { progress.isFinished($0) } }

  // MARK: - Reading

  private func unfinished(of instance: String) async throws -> Unfinished {
    Unfinished(
      outbound: try await store.unfinishedOutbound(of: instance),
      messages: try await store.unfinishedMessages(of: instance), untold: try await store.untoldEnds(of: instance))
  }

  /// Reads the unfinished work of every instance before this program continues with the handover.
  ///
  /// - Parameters:
  ///   - shown: keys of sends that this program continues.
  ///   - running: messages that sessions continue.
  func read(exceptOf shown: Set<String>, _ running: Set<MessageKey>) async throws {
    for instance in try await store.instances() {
      var left = try await unfinished(of: instance)
      left.outbound.removeAll { shown.contains($0.record.key) }
      left.messages.removeAll { running.contains($0.stored.key) }
      handedOver[instance] = left
    }
  }

  /// The work that the next daemon finds, in words: a line for each instance that has some.
  func leftForNextStart() async -> [String] {
    do {
      try await store.settled()
      var lines: [String] = []
      for instance in try await store.instances().sorted() {
        let left = try await unfinished(of: instance)
        let parts = [
          left.messages.isEmpty ? nil : "\(left.messages.count) message(s) that have not ended",
          left.outbound.isEmpty ? nil : "\(left.outbound.count) send(s) that are not settled",
        ].compactMap(\.self)
        guard !parts.isEmpty else { continue }
        lines.append("\(instance): the next start continues with \(parts.joined(separator: " and "))")
      }
      return lines
    } catch {
      return ["the work left for the next start could not be read: \(error)"]
    }
  }

  // MARK: - Messages

  func process(_ unfinished: UnfinishedMessage, _ link: PluginConnection, _ key: ConversationKey) async {
    let message = unfinished.stored.message
    let messageKey = unfinished.stored.key
    let words = redaction.line(message.text, limit: 80)
    var life = MessageLifecycle(restoring: unfinished.stage, isWithdrawn: unfinished.isWithdrawn)
    let next = life.take(.foundAfterRestart)?.next
    switch (next, MessageEnd(messageKey, life)) {
    case (.end(.withdrawn), let end?):
      directory.post(.report("🗑️ \"\(words)\" was withdrawn before it ran.", end), to: key)
    case (.end, let end?) where unfinished.stage == .handling:
      directory.post(
        .report(
          "⚠️ pi-relayd was restarted while it handled \"\(words)\": it may or may not have been done.", end), to: key)
    case (.end, let end?): await reportInterruption(unfinished, end, words)
    case (.wait, nil): await routeAgain(unfinished, words, link)
    default: logger.with(key).error("message \(message.id) was found in a stage from which no daemon continues")
    }
  }

  /// Routes a message that no agent has, or whose agent's transcript decides.
  private func routeAgain(_ unfinished: UnfinishedMessage, _ words: String, _ link: PluginConnection) async {
    let message = unfinished.stored.message
    let key = unfinished.stored.key
    // It was stored while the person was still admitted.
    if bindings.rights(of: key.conversation) == .revoked { return directory.endMessage(key, .refused) }
    if unfinished.stage == .received, unfinished.stored.isAnswer, CommandLineText(message).isWords {
      if message.text.isEmpty {
        return directory.endMessage(
          key, .refused,
          saying: "⚠️ pi-relayd was restarted after you pressed a button that no longer had an effect. Nothing was done."
        )
      }
      return directory.endMessage(
        key, .refused,
        saying: "⚠️ The question was withdrawn when pi-relayd was restarted, so \"\(words)\" did not answer it. If it "
          + "was meant for the agent, write it again.")
    }
    // Such a message never answers a question: earlier questions have ended, and new ones were not asked when it was
    // written.
    guard let prompt = CommandLineText.prompt(of: message) else { return await dispatcher.process(message, link) }
    if unfinished.stage == .received, key.origin.isHeartbeat {
      return await dispatcher.process(finding: message, link)
    }
    _ = await dispatcher.prompts.submit(prompt, link, as: .followUp, earlier: unfinished)
  }

  private func reportInterruption(_ unfinished: UnfinishedMessage, _ end: MessageEnd, _ words: String) async {
    let why = "pi-relayd was restarted while the agent worked on \"\(words)\"."
    let conversation = end.key.conversation
    let session = unfinished.session ?? unfinished.stage.session
    guard let session, let session = await sessions.session(session) else {
      return directory.post(
        .report("❌ \(why) Its session no longer exists; write the message again if you still want it.", end),
        to: conversation)
    }
    directory.post(.event(.runEnded(end, await session.interruption(why))), to: conversation)
  }
}
