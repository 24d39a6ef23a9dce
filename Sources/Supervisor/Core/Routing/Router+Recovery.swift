internal import AgentSessions
internal import PiRPC
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

// What a daemon finds of the one before it: sessions at once, the work of each messenger when it connects.
extension Router {
  /// Brings the sessions back; their agents sleep until there is something to do.
  package func restore() async throws {
    try await host.restore { [watchers, assistantQueue] session, event in
      assistantQueue.note(event)
      watchers.tell(session, event)
    }
    try await sweepCheckpoints()
    // Terminals that do not come back within their grace were closed meanwhile.
    let terminals = try await store.instances().filter { $0.hasPrefix(ConversationKey.terminalPrefix) }
    guard !terminals.isEmpty else { return }
    taskScope.add { [self, timekeeper] in
      guard await timekeeper.sleep(for: Self.terminalGrace) else { return }
      for terminal in terminals { await dropTerminal(terminal) }
    }
  }

  private func sweepCheckpoints() async throws {
    var keys: Set<String> = []
    for instance in try await store.instances() {
      keys.formUnion(try await store.unfinishedOutbound(of: instance).map(\.record.key))
    }
    checkpoints.sweep(keeping: keys)
  }

  /// Takes up what was unfinished in an instance's conversations, in the order it came; once for each daemon.
  func recover(_ link: PluginLink) async {
    guard recovery.begin(link.name) else { return }
    do {
      let bindings = try await store.bindings(of: link.name)
      // Read now, or before this program began to work on what it was handed.
      let left = if let before = leftBefore.removeValue(forKey: link.name) { before } else { try await left(link.name) }
      let (outbound, messages) = (left.outbound, left.messages)
      for unfinished in outbound { output(unfinished.record.conversation, link).post(.resume(unfinished)) }
      for end in left.untold { output(end.key.conversation, link).post(.tell(end)) }
      // Behind what is sent again: what a session says now comes after.
      for binding in bindings { await watchAgain(binding, link) }
      for message in messages {
        place(message.stored.key.conversation, message.stored.message.conversation, link)
          .inbox.post(.recovered(message, link))
      }
      recovery.finish(link.name)
      if !outbound.isEmpty || !messages.isEmpty {
        log("\(link.name): \(messages.count) message(s) and \(outbound.count) send(s) were unfinished and are taken up")
      }
    } catch {
      // Not tried again by this daemon, which could not tell its own work from that of the last.
      log("\(link.name): what was unfinished could not be read, and waits for the next start: \(error)")
    }
  }

  /// What an earlier program left unfinished of an instance.
  struct Left {
    var outbound: [UnfinishedOutbound]
    var messages: [UnfinishedMessage]
    var untold: [MessageEnd]
  }

  func left(_ instance: String) async throws -> Left {
    Left(
      outbound: try await store.unfinishedOutbound(of: instance),
      messages: try await store.unfinishedMessages(of: instance), untold: try await store.untoldEnds(of: instance))
  }

  /// What the next daemon finds, in words: a line for each instance that has something.
  package func leftForNextStart() async -> [String] {
    do {
      try await store.settled()
      var lines: [String] = []
      for instance in try await store.instances().sorted() {
        let left = try await left(instance)
        let parts = [
          left.messages.isEmpty ? nil : "\(left.messages.count) message(s) that have not ended",
          left.outbound.isEmpty ? nil : "\(left.outbound.count) send(s) that are not settled",
        ].compactMap(\.self)
        guard !parts.isEmpty else { continue }
        lines.append("\(instance): the next start goes on with \(parts.joined(separator: " and "))")
      }
      return lines
    } catch {
      return ["what is left for the next start could not be read: \(error)"]
    }
  }

  private func output(_ key: ConversationKey, _ link: PluginLink) -> ConversationOutput {
    place(key, Conversation(id: key.conversation, kind: .dm), link).output
  }

  private func watchAgain(_ binding: Binding, _ link: PluginLink) async {
    _ = place(binding.key, binding.conversation, link)
    guard let session = await host.listing(binding.session), AddressableSessions.permits(session, to: binding.key)
    else { return }
    await watch(session.id, binding.key)
  }

  func process(_ unfinished: UnfinishedMessage, _ link: PluginLink, _ key: ConversationKey) async {
    let message = unfinished.stored.message
    let words = redaction.line(message.text, limit: 80)
    var life = MessageLifecycle(restoring: unfinished.stage, isWithdrawn: unfinished.isWithdrawn)
    switch life.take(.foundAfterRestart)?.next {
    case .end(.withdrawn):
      report("🗑️ \"\(words)\" was withdrawn before it ran.", MessageEnd(unfinished.stored.key, .withdrawn))
    case .end(let conclusion) where unfinished.stage == .handling:
      report(
        "⚠️ pi-relayd was restarted while it handled \"\(words)\": it may or may not have been done.",
        MessageEnd(unfinished.stored.key, conclusion))
    case .end: await reportInterruption(unfinished, words, key)
    case .wait: await takeUp(unfinished, words, link, key)
    default: log("\(key): message \(message.id) was found in a stage from which nothing continues")
    }
  }

  /// Routes a message that no agent has, or whose agent's transcript decides.
  private func takeUp(
    _ unfinished: UnfinishedMessage, _ words: String, _ link: PluginLink, _ key: ConversationKey
  ) async {
    let message = unfinished.stored.message
    if unfinished.stage == .received, unfinished.stored.isAnswer, Self.kind(of: message) == .words {
      return report(
        "⚠️ The question was withdrawn when pi-relayd was restarted, so \"\(words)\" did not answer it. If it was meant "
          + "for the agent, write it again.", MessageEnd(unfinished.stored.key, .refused))
    }
    // Never the answer to a question: those of before are gone, and those of now were not asked yet.
    guard let prompted = Self.words(of: message) else { return await process(message, link, key) }
    if unfinished.stage == .received, message.id.hasPrefix(Self.heartbeatPrefix) {
      return await process(finding: message, link, key)
    }
    _ = await prompt(prompted, link, as: .followUp, earlier: unfinished)
  }

  private func reportInterruption(_ unfinished: UnfinishedMessage, _ words: String, _ key: ConversationKey) async {
    let why = "pi-relayd was restarted while the agent worked on \"\(words)\"."
    let end = MessageEnd(unfinished.stored.key, .interrupted)
    let session = unfinished.session ?? unfinished.stage.session
    guard let session, let session = await host.session(session) else {
      return report("❌ \(why) Its session is gone; write it again if it is still wanted.", end)
    }
    let how = await session.interruption(of: end.key, why)
    places[key]?.output.post(.event(.runEnded(end.key, how, .interrupted)))
  }

  /// A message has ended in a session that its conversation has turned away from.
  func endUnseen(_ end: MessageEnd, _ how: RunEnd) async {
    if let output = places[end.key.conversation]?.output {
      if let why = how.problem {
        output.post(.report("❌ In the session you left: \(why)", end))
      } else {
        output.post(.end(end))
      }
      return
    }
    do {
      try await store.end(end)
    } catch {
      log("\(end.key.conversation): that a message has ended could not be stored: \(error)")
    }
  }

  /// A session that the conversation has turned away from asks something over a message of it, and waits.
  func tellOfQuestion(_ record: DialogRecord, to key: ConversationKey) async {
    guard dialogs.record(record.id) != nil, let name = await host.session(record.session)?.name else { return }
    places[key]?.output.post(.askedElsewhere(record, session: name))
  }

  private func report(_ text: String, _ end: MessageEnd) {
    places[end.key.conversation]?.output.post(.report(text, end))
  }
}
