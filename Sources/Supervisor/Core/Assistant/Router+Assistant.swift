internal import AgentRuntime
internal import AgentSessions
internal import FoundationEssentials
internal import Glibc
internal import PiRPC
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayWire

// Conversations with the assistant: each has a session that begins anew after a while, and what has timed out is removed.
extension Router {
  /// The session for a message to the assistant.
  func assistantSession(_ message: MessageReceived, _ key: ConversationKey, _ link: PluginLink) async -> Session {
    let isOwner = message.conversation.kind == .dm && message.sender.id == assistant.settings.owner
    let isPerson = message.conversation.kind == .dm && !message.id.hasPrefix(Self.heartbeatPrefix)
    let name = message.conversation.title ?? (isPerson ? message.sender.name : "assistant")
    return await makeSession(
      key, link, name: name, directory: nil, model: nil, role: isOwner ? .owner : .assistant)
  }

  /// Begins what is done from time to time, when there is something to do it for.
  func beginAssistantWork() {
    guard !hasAssistantWork else { return }
    hasAssistantWork = true
    let settings = assistant.settings
    func every(_ interval: Duration?, _ work: @escaping @Sendable (isolated Router) async -> Void) {
      guard let interval else { return }
      taskScope.add { [self, timekeeper] in
        while await timekeeper.sleep(for: interval) { await work(self) }
      }
    }
    every(settings.sweepInterval) { await $0.sweepAssistants() }
    every(settings.healthInterval) { await $0.tellAssistantHealth() }
    every(settings.heartbeatInterval) { await $0.heartbeat() }
  }

  func tellAssistantHealth() async {
    log(assistantQueue.health(sessions: await host.assistants().count))
  }

  // MARK: - What has timed out

  private func sweepAssistants() async {
    guard !isDraining else { return }
    let limit = assistant.limit
    var ended = 0
    for session in await host.assistants() where await sweep(session.id, limit) { ended += 1 }
    let used = Set(await host.assistants().map(\.id) + host.passing.map(\.id))
    let root = assistant.root
    let now = timekeeper.wallTime()
    // Reads a folder for each: not on the loop, nor on this actor.
    let removed = await withTaskExecutorPreference(globalConcurrentExecutor) { [log] in
      AssistantFolders(root: root).remove(exceptOf: used, unusedFor: limit, now: now, log: log)
    }
    guard ended + removed > 0 else { return }
    log("assistant: \(ended) session(s) and \(removed) folder(s) that were not used for \(limit.forPeople) are removed")
  }
}

extension Router {
  private func sweep(_ session: String, _ limit: Duration) async -> Bool {
    do {
      let conversations = try await store.conversations(of: session)
      // What is not known yet to have ended may be decided by what the session remembers.
      guard conversations.allSatisfy({ recovery.isFinished($0.instance) }) else { return false }
      // A message that arrives from here on finds it closed, and begins another.
      guard await host.closeIfUnused(session, for: limit) else { return false }
      _ = watchers.forget(session)
      for key in conversations { await storeNoSession(of: key, from: session) }
      assistantQueue.forget(conversations)
      return true
    } catch {
      log("assistant: who talks to a session could not be read: \(error)")
      return false
    }
  }
}

/// Folders that sessions of assistants have left.
struct AssistantFolders {
  let root: String

  /// Removes the folders of sessions that are no more and have not been written to for long. What else lies there stays.
  ///
  /// - Returns: how many.
  func remove(
    exceptOf used: Set<String>, unusedFor limit: Duration, now: Double, log: (String) -> Void
  ) -> Int {
    // Before the first session there is none.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    var removed = 0
    for name in names where UUID(uuidString: name) != nil && !used.contains(name) {
      let folder = "\(root)/\(name)"
      guard access("\(folder)/\(SessionMemory.marker)", F_OK) == 0 else { continue }
      guard let last = SessionMemory.lastUse(of: folder), now - last >= limit / .seconds(1) else { continue }
      do {
        try FileManager.default.removeItem(atPath: folder)
        removed += 1
      } catch {
        log("assistant: \(folder) could not be removed: \(error)")
      }
    }
    return removed
  }
}
