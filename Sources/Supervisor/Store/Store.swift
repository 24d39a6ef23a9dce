package import RelayModel
package import RelayWire

/// Where everything that must survive is kept. A message is acknowledged only after a call here has returned: what a
/// call has stored is on the disk, not on its way there. The exceptions are named `schedule…`.
package protocol Store: Sendable {
  // MARK: Inbound

  /// Stores a message and, in the same step, the plugin's new state. `false`: it was stored before.
  func accept(_ message: StoredMessage, state: JSONValue?) async throws -> Bool
  /// The same for who has more to store meanwhile: what arrives together shares a commit. Told in the order of the
  /// calls, on the store's thread.
  ///
  /// - Parameter encoded: the message as JSON, where it is at hand.
  func accept(
    _ message: StoredMessage, encoded: [UInt8]?, state: JSONValue?,
    then: @escaping @Sendable (Result<Bool, any Error>) -> Void)
  /// Stores a message that is made of an ended one, whose words were kept and go in the same step: it happens once.
  ///
  /// - Returns: the message; nil when nothing is kept of the ended one, or it was stored before.
  func accept(
    runningAgain key: MessageKey, as again: @escaping @Sendable (MessageReceived) -> MessageReceived
  ) async throws -> MessageReceived?
  /// Returns when everything given to the store before is stored, and told.
  func settled() async throws
  /// Stores a change of a message's stage; a message that has ended stays as it is.
  ///
  /// - Parameter session: the session whose agent it is given to, where it is.
  func advance(_ key: MessageKey, _ change: StageChange, in session: String?) async throws
  /// Messages that are stored as on their way to a session's agent, where the session's entries can tell of them, with
  /// their words.
  func dispatching(to session: String) async throws -> [DispatchedMessage: String]
  /// Stores the changes that the session's transcript calls for: it tells nothing of these messages once the agent gets
  /// others.
  func resolve(_ changes: [DispatchedMessage: StageChange], in session: String) async throws
  /// Stores the end of a message; who it is for is told of it only then.
  func end(_ end: MessageEnd) async throws
  /// The messenger knows how the message ended, or does not want to. With some later commit: it is told twice at worst.
  func scheduleOutcomeTold(_ key: MessageKey)
  /// Ends that the messenger has not been told of.
  func untoldEnds(of instance: String) async throws -> [MessageEnd]
  /// Keeps the new words of a message that waits; what an agent may have stays as it was given.
  ///
  /// - Returns: the message as it is now; nil when it does not wait.
  func replace(_ key: MessageKey, text: String) async throws -> MessageReceived?
  /// Keeps that a message is not to be run if it still waits, or if it was on its way and turns out not to have arrived.
  func withdraw(_ key: MessageKey) async throws
  /// Messages of an instance that have not ended, oldest first.
  func unfinishedMessages(of instance: String) async throws -> [UnfinishedMessage]
  /// The stage of a message; `nil` for a message that never came, or so long ago that it is forgotten.
  func stage(of key: MessageKey) async throws -> MessageStage?

  // MARK: Outbound

  /// Records what is about to be sent and, in the same step, the end of the message that it reports, that what was sent
  /// under the key `closing` needs no further change, and that it takes the place of what is recorded as `superseding`
  /// (which is the key of a record itself where an earlier version recorded nothing but that key).
  func recordOutbound(
    _ records: [OutboundRecord], ending: MessageEnd?, closing: String?, superseding: String?) async throws
  /// Records what became of it, with the next commit: a crash before that is one more lost receipt.
  func scheduleSettleOutbound(_ key: String, _ result: OutboundResult)
  /// Records that it was tried in vain, so that the next daemon neither begins anew nor hurries.
  func scheduleRetryOutbound(_ key: String, _ tries: SendTries)
  /// Records that the message sent under this key needs no further change.
  func scheduleCloseOutbound(_ key: String)
  func result(of key: String) async throws -> OutboundResult?
  /// Outbound records of an instance that are not settled, or are open, in order.
  func unfinishedOutbound(of instance: String) async throws -> [UnfinishedOutbound]
  /// For each instance, as far back as is kept.
  func deliveryCounts() async throws -> [DeliveryCount]

  // MARK: Sessions

  func saveSession(_ session: SessionRecord) async throws
  /// Keeps the model that people are shown, of a session that is stored. With some later commit: the agent tells it again.
  func scheduleShownModel(_ model: String, of session: String)
  /// Forgets the session. Who is bound to it stays so, to be told that it is gone.
  func removeSession(_ id: String) async throws
  /// In the order they were made.
  func sessions() async throws -> [SessionRecord]

  // MARK: The rest

  /// Keeps a notice that people are told once.
  ///
  /// - Returns: false where it was kept before.
  func keepNotice(_ text: String) async throws -> Bool
  func pluginState(of instance: String) async throws -> JSONValue?
  func savePluginState(_ state: JSONValue, of instance: String) async throws
  func backoff(of instance: String) async throws -> Backoff?
  /// With the next commit; nil forgets it.
  func scheduleSaveBackoff(_ backoff: Backoff?, of instance: String)
  /// Plugins switched off by hand.
  func switchedOff() async throws -> Set<String>
  func switchOff(_ instance: String, _ isOff: Bool) async throws
  func binding(of conversation: ConversationKey) async throws -> String?
  func bindings(of instance: String) async throws -> [Binding]
  /// The conversations that talk to a session.
  func conversations(of session: String) async throws -> [ConversationKey]
  /// Binds a conversation. Messages that came before `cause` stay with the session they were for.
  func bind(_ binding: Binding, because cause: MessageKey?) async throws
  /// - Parameter session: only where it still is this one; nil: whichever it is.
  func unbind(_ conversation: ConversationKey, from session: String?) async throws
  /// Instances of which anything unfinished or bound is stored.
  func instances() async throws -> Set<String>
  /// An instance will not be back: its messages are dropped, and what was to be said to it is not said.
  func forget(instance: String) async throws
}

extension Store {
  package func unbind(_ conversation: ConversationKey) async throws { try await unbind(conversation, from: nil) }

  package func recordOutbound(
    _ records: [OutboundRecord], ending: MessageEnd? = nil, closing: String? = nil
  ) async throws {
    try await recordOutbound(records, ending: ending, closing: closing, superseding: nil)
  }
}
