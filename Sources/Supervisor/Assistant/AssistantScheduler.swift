internal import AgentSessions
package import Logging
package import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
package import RelayModel
internal import RelayWire
package import SessionCatalog

/// The parts of message routing that the assistant's periodic work needs.
package protocol AssistantHost: Sendable {
  /// True once the daemon takes no new messages.
  var isDraining: Bool { get }
  /// The conversations that talk to a session; `nil` while the unfinished work of one of them is not recovered, which may
  /// still need the session's transcript.
  func recoveredConversations(of session: String) async throws -> [ConversationKey]?
  /// Conversations no longer talk to a session that has been closed.
  func sessionClosed(_ session: String, in conversations: [ConversationKey]) async
  /// Hands the finding of a periodic check to the owner.
  ///
  /// - Parameter number: of the check.
  func deliver(finding: String, number: Int) async
}

/// The assistant's work from time to time: it removes sessions that have timed out, reports its health to the log, and runs the
/// periodic check.
package actor AssistantScheduler {
  private let setup: AssistantSetup
  private let sessions: SessionRegistry
  private let admission: AdmissionController
  private let timeSource: TimeSource
  private let logger: Logger
  private var hasBegun = false

  package init(
    _ setup: AssistantSetup, sessions: SessionRegistry, admission: AdmissionController, timeSource: TimeSource,
    logger: Logger
  ) {
    self.setup = setup
    self.sessions = sessions
    self.admission = admission
    self.timeSource = timeSource
    self.logger = logger
  }

  /// Starts the timers, once. They end with the scope.
  package func begin(for host: any AssistantHost, in taskScope: TaskScope) {
    guard !hasBegun else { return }
    hasBegun = true
    func every(_ interval: Duration?, _ work: @escaping @Sendable () async -> Void) {
      guard let interval else { return }
      taskScope.add { [timeSource] in
        while await timeSource.sleep(for: interval) { await work() }
      }
    }
    let settings = setup.settings
    every(settings.sweepInterval) { [self] in await sweep(host) }
    every(settings.healthInterval) { [self] in await reportHealth() }
    every(settings.heartbeatInterval) { [self] in await check(host) }
  }

  private func reportHealth() async {
    let count = await sessions.assistants().count
    logger.info("\(admission.health(sessions: count))")
  }

  // MARK: Sessions that have timed out

  private func sweep(_ host: any AssistantHost) async {
    guard !host.isDraining else { return }
    let limit = setup.limit
    var ended = 0
    for session in await sessions.assistants() where await closeIfUnused(session.id, for: limit, host) { ended += 1 }
    let used = Set(await sessions.assistants().map(\.id) + sessions.passing.map(\.id))
    let now = timeSource.wallTime()
    // Reads a directory for each session: neither on the event loop nor on this actor.
    let removed = await withTaskExecutorPreference(globalConcurrentExecutor) { [logger, root = setup.root] in
      AssistantFolders(root: root).remove(exceptOf: used, unusedFor: limit, now: now, logger: logger)
    }
    guard ended + removed > 0 else { return }
    logger.info(
      "assistant: \(ended) session(s) and \(removed) folder(s) that were not used for \(limit.forPeople) are removed")
  }

  private func closeIfUnused(_ session: String, for limit: Duration, _ host: any AssistantHost) async -> Bool {
    do {
      guard let conversations = try await host.recoveredConversations(of: session) else { return false }
      // A message that arrives from here on finds the session closed, and begins another.
      guard await sessions.closeIfUnused(session, for: limit) else { return false }
      await host.sessionClosed(session, in: conversations)
      admission.forget(conversations)
      return true
    } catch {
      logger.with("session", session).error("assistant: the conversations of a session could not be read: \(error)")
      return false
    }
  }

  // MARK: The periodic check

  private func check(_ host: any AssistantHost) async {
    guard !host.isDraining else { return }
    let number = Int(timeSource.wallTime())
    await PeriodicCheck.run(number, in: sessions, observing: admission) { outcome in
      switch outcome {
      case .allWell: logger.info("heartbeat: nothing that the owner must know")
      case .finding(let text): await host.deliver(finding: text, number: number)
      case .failed(let problem): logger.warning("heartbeat: \(problem)")
      }
    }
    await reportHealth()
  }
}
