package import RelayModel
package import RelayWire

/// The operations on sessions that the control socket offers. A session is named by its id, its name or the beginning of
/// one of them.
package protocol SessionService: Sendable {
  associatedtype Feed: SessionEventFeed

  func list() async -> [SessionStatus]
  func status(_ session: String) async throws(WireError) -> SessionStatus
  func questions(of session: String) async throws(WireError) -> [OpenQuestion]
  func feed(of session: String) async throws(WireError) -> Feed
  func prompt(_ request: ProgramPrompt) async throws(WireError) -> PromptReceipt
  func abort(_ session: String) async throws(WireError) -> String
  func answer(_ session: String, question: String?, _ text: String?) async throws(WireError) -> String
  func rename(_ session: String, to name: String) async throws(WireError) -> String
  func use(model: String, in session: String) async throws(WireError)
  func compact(_ session: String, keeping instructions: String?) async throws(WireError)
  func close(_ session: String) async throws(WireError)
  func create(
    directory: String?, name: String?, model: String?, task: String?
  ) async throws(WireError) -> SessionStatus
}

/// The events of one session, gathered from the moment it is made.
package protocol SessionEventFeed: Sendable {
  /// Reports events until `stop`, or until the session is closed.
  ///
  /// - Parameter report: must not wait.
  func run(_ report: @Sendable (SessionReport) -> Void) async
  func stop()
}
