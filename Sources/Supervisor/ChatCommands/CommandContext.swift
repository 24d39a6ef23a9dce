package import AgentSessions
package import RelayConfig
package import RelayWire
package import SessionCatalog

/// The conversation in which a command was called, and everything that a command may do there.
package protocol CommandContext: Sendable {
  var conversation: Conversation { get }
  /// Of the messenger.
  var capabilities: Capabilities { get }
  /// True for a terminal on this machine, whose user the daemon belongs to.
  var isLocal: Bool { get }
  /// The daemon's directory, whose disk `/status` watches.
  var home: String { get }
  /// Indicates that a message begins a session where there is none.
  var beginsByWriting: Bool { get }

  // MARK: Sessions

  /// The session that the conversation talks to. A sleeping session is woken.
  func session() async -> Session?
  /// The same session as lists show it. A sleeping session keeps sleeping.
  func listing() async -> SessionListing?
  /// The same session while it is awake; `nil` while it sleeps, because its agent has nothing to report then.
  func awakeSession() async -> Session?
  /// The sessions that the conversation may address. The result reveals no others.
  func addressableSessions() async -> AddressableSessions
  /// - Returns: `nil` where the session has just been closed.
  func wake(_ listing: SessionListing) async -> Session?
  func create(_ request: NewSession) async -> Session
  func bind(to session: Session) async
  func unbind() async
  /// Ends the pairing of this conversation with a session, where there is one, and tells the person.
  func endPairing(with session: Session) async -> Bool
  /// - Returns: the name that it has now, with a number where another has the wanted one.
  func rename(_ session: Session, to name: String) async -> String
  func use(model: String, in session: Session) async
  func close(_ session: Session) async
  /// The directory with its links resolved, where `sessions.roots` admits it.
  func admittedDirectory(_ path: String) async -> String?
  /// The uncommitted changes of a repository, in words; `nil` where `git` does not say in time.
  func uncommittedChanges(in directory: String) async -> String?

  // MARK: Messages

  /// Gives words to the session, beginning one if there is none.
  ///
  /// - Returns: the text to show about it.
  func submit(_ text: String, as mode: Config.Busy) async -> String?
  /// Ends the message that called the command.
  func end(saying text: String?) async
  /// Shortens the session's context behind everything that waits, and then ends the message.
  func compact(_ session: Session, keeping instructions: String?) async
  /// Opens a thread with a session of its own.
  ///
  /// - Throws: the messenger's refusal.
  /// - Returns: the thread's title.
  func openThread(for request: NewSession, title: String) async throws -> String
}

extension CommandContext {
  var noSession: String {
    "There is no session here yet. "
      + (beginsByWriting ? "Write something to begin one, or /sessions and /use." : SessionMenu.advice)
  }

  /// The list of sessions.
  ///
  /// - Parameter page: from 1.
  package func menu(page: Int = 1) async -> SessionMenu {
    await SessionMenu(
      sessions: addressableSessions().statuses(), beginsByWriting: beginsByWriting, current: listing()?.id, page: page,
      limits: capabilities.buttons)
  }
}
