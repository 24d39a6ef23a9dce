package import RelayModel
package import RelayWire

/// The storage of everything that must survive. A message is acknowledged only after a call here has returned: data
/// that a call has stored is on the disk. Calls named `schedule…` are the exceptions.
package protocol Store: Sendable {
  // MARK: Inbound

  /// Stores a message and, in the same step, the plugin's new state. `false`: it was stored before.
  func accept(_ message: StoredMessage, state: JSONValue?) async throws -> Bool
  /// The same for a caller that has more to store meanwhile: messages that arrive together share a commit. `then` is
  /// called in the order of the calls, on the store's thread.
  ///
  /// - Parameter encoded: the message as JSON, if the caller has it.
  func accept(
    _ message: StoredMessage, encoded: [UInt8]?, state: JSONValue?,
    then: @escaping @Sendable (Result<Bool, any Error>) -> Void)
  /// Stores a message that is made of an ended one, whose words were kept and go in the same step: it happens once.
  ///
  /// - Returns: the message; nil when nothing is kept of the ended one, or it was stored before.
  func accept(
    runningAgain key: MessageKey, as again: @escaping @Sendable (MessageReceived) -> MessageReceived
  ) async throws -> MessageReceived?
  /// Returns when everything given to the store before is stored and reported.
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
  /// Stores the end of a message; its messenger is told only after that.
  func end(_ end: MessageEnd) async throws
  /// Notes that the messenger knows the outcome, or does not want it. Stored with a later commit: at worst the outcome
  /// is reported twice.
  func scheduleOutcomeTold(_ key: MessageKey)
  /// Ends that were not reported to the messenger yet.
  func untoldEnds(of instance: String) async throws -> [MessageEnd]
  /// Stores the changed text of a waiting message; the text of a message that an agent may have stays.
  ///
  /// - Returns: the message as it is now; `nil` when it does not wait.
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
  /// Records a failed try, so that the next daemon counts it and keeps the wait.
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
  /// Removes the session. Its conversations stay bound to it, to be told that it is gone.
  func removeSession(_ id: String) async throws
  /// In the order they were made.
  func sessions() async throws -> [SessionRecord]

  // MARK: The rest

  /// Stores a notice that people see once.
  ///
  /// - Returns: false where it was stored before.
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
  /// Forgets an instance that will not return: its messages and unfinished sends are dropped.
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
