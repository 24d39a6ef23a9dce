internal import AgentSessions
internal import ConversationSessions
internal import Conversations
internal import Logging
internal import RelayConcurrency
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import SessionCatalog

/// Drops terminals that do not come back: their daemon or their connection may only have been restarted.
struct DetachedTerminals: Sendable {
  let store: SQLiteStore
  let sessions: SessionRegistry
  let directory: ConversationDirectory
  let subscriptions: SessionSubscriptions
  let bindings: SessionBindings
  let timeSource: TimeSource
  let taskScope: TaskScope
  /// Removes the folders of a terminal.
  let removeFolders: @Sendable (String) -> Void
  let logger: Logger

  /// The time that a terminal may take to come back.
  private static let grace: Duration = .seconds(60)

  /// Waits for the terminals of an earlier daemon.
  func expectAll(among instances: some Sequence<String>) {
    let terminals = instances.filter { $0.hasPrefix(ConversationKey.terminalPrefix) }
    if !terminals.isEmpty { expect(terminals) }
  }

  /// Drops these terminals once their time is over, unless they are back by then.
  func expect(_ terminals: [String]) {
    taskScope.add { [self] in
      guard await timeSource.sleep(for: Self.grace) else { return }
      for terminal in terminals { await drop(terminal) }
    }
  }

  private func drop(_ instance: String) async {
    guard let closed = directory.remove(instance: instance) else { return }
    for key in closed { subscriptions.drop(key) }
    removeFolders(instance)
    for session in await sessions.awake() { await session.drop(instance: instance) }
    do {
      try await store.forget(instance: instance)
      bindings.forget(instance: instance)
    } catch {
      logger.with("instance", instance).error("its removal was not stored: \(error)")
    }
  }
}
