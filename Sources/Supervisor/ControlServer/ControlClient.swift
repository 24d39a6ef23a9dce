internal import AgentExtension
internal import Logging
internal import RelayConcurrency
internal import RelayModel
internal import RelayTransport
internal import RelayWire

/// A program at the other end of a control connection: its role, the sessions whose events it is told, and the limits of
/// what it may send and leave unread.
final class ControlClient: Sendable {
  private struct State {
    /// By the session's id.
    var feeds: [String: any SessionEventFeed] = [:]
    var isClosing = false
    var isExtension = false
  }

  /// The longest line of a request.
  static let maximumLineLength = 1 << 20
  /// Bytes that may wait to be read.
  static let maximumUnread = 8 << 20
  /// How long a client that has fallen behind may take to read the reason.
  static let closingLimit: Duration = .seconds(5)

  private let peer: JSONRPCConnection
  private let role: ControlRole
  private let clock: any Clock<Duration>
  private let taskScope: TaskScope
  private let logger: Logger
  private let state = Locked(State())

  init(
    _ peer: JSONRPCConnection, _ role: ControlRole, clock: any Clock<Duration>, taskScope: TaskScope, logger: Logger
  ) {
    self.peer = peer
    self.role = role
    self.clock = clock
    self.taskScope = taskScope
    self.logger = logger
  }

  // MARK: - Role

  var isOwner: Bool { if case .owner = role { true } else { false } }

  /// The session whose agent the client is, or descends from.
  var agentSession: String? { if case .agent(let session) = role { session } else { nil } }

  /// The only session that the client may ask about; `nil` for one that may ask about all.
  ///
  /// - Throws: where it may ask about none.
  func onlySession() throws(WireError) -> String? {
    switch role {
    case .owner: return nil
    case .agent(let session?): return session
    case .agent(nil), .stranger:
      throw WireError(.forbidden, "a process that pi-relayd has started may not command it")
    }
  }

  func requireOwner(for method: String) throws(WireError) {
    guard let session = try onlySession() else { return }
    throw WireError(
      .forbidden,
      "an agent may not command the daemon that supervises it: this process belongs to the session \(session), and may "
        + "only look at that session, with session.list, session.status, session.questions and session.subscribe; run "
        + "\(method) outside of the agent")
  }

  /// The client is an agent's extension, which has greeted.
  func noteGreeting() { state.withLock { $0.isExtension = true } }

  /// Tells an extension its settings.
  func tell(_ settings: ExtensionSettings) { tell(ExtensionSettings.method, settings) }

  /// Tells an extension what has changed.
  func tell(_ method: String, _ params: some Encodable & Sendable) {
    guard state.withLock({ $0.isExtension && !$0.isClosing }) else { return }
    do {
      try peer.notify(method, params)
    } catch {
      // It has left, or learns it when it connects again.
      logger.debug("\(method) was not told: \(error)")
    }
  }

  // MARK: - Limits

  /// - Returns: false for a request that is not carried out.
  func takes(_ request: IncomingRequest) -> Bool {
    if !hasRoom() { return false }
    guard request.size <= Self.maximumLineLength else {
      request.fail(
        WireError(
          .invalidRequest,
          "the line has \(ByteCount(request.size)); at most \(ByteCount(Self.maximumLineLength)) are taken"))
      return false
    }
    return true
  }

  /// Ends the connection of a client that does not read.
  ///
  /// - Returns: false once nothing more is sent.
  private func hasRoom() -> Bool {
    if state.withLock({ $0.isClosing }) { return false }
    guard peer.unreadBytes > Self.maximumUnread else { return true }
    let isFirst = state.withLock { state in
      defer { state.isClosing = true }
      return !state.isClosing
    }
    guard isFirst else { return false }
    let reason = "more than \(ByteCount(Self.maximumUnread)) were left unread"
    logger.warning("a control connection is closed: \(reason)")
    // A client that does not read this either loses it with the connection.
    try? peer.notify(ControlNotification.closing, ControlNotification.Closing(reason: reason))
    peer.finish()
    stopFeeds()
    taskScope.add { [clock, peer] in
      // Cancelled where the daemon ends.
      try? await clock.sleep(for: Self.closingLimit)
      peer.close()
    }
    return false
  }

  // MARK: - Events

  func isSubscribed(to session: String) -> Bool { state.withLock { $0.feeds[session] != nil } }

  /// Sends the events of a session from now on.
  func subscribe(to session: String, _ feed: any SessionEventFeed) {
    let isTaken = state.withLock { state in
      guard !state.isClosing, state.feeds[session] == nil else { return false }
      state.feeds[session] = feed
      return true
    }
    guard isTaken else { return feed.stop() }
    taskScope.add { [self] in
      await feed.run { tell($0) }
      state.withLock { _ = $0.feeds.removeValue(forKey: session) }
    }
  }

  func unsubscribe(from session: String) { state.withLock { $0.feeds.removeValue(forKey: session) }?.stop() }

  private func tell(_ report: SessionReport) {
    guard hasRoom() else { return }
    do {
      try peer.notify(ControlNotification.sessionEvent, report)
    } catch {
      // It has left, or will be noticed to have fallen behind.
      logger.debug("an event was not sent: \(error)")
    }
  }

  private func stopFeeds() {
    let feeds = state.withLock { state in
      defer { state.feeds = [:] }
      return state.feeds
    }
    for feed in feeds.values { feed.stop() }
  }

  /// The connection is over.
  func close() {
    state.withLock { $0.isClosing = true }
    stopFeeds()
    peer.close()
  }
}
