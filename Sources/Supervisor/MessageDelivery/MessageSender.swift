internal import FoundationEssentials
package import Logging
package import PluginRuntime
package import RelayConcurrency
package import RelayConfig
internal import RelayLogging
package import RelayModel
package import RelayStore
internal import RelayTransport
package import RelayWire

/// Sends to one conversation: recorded before, settled by the plugin's receipt, tried again by the class of failure,
/// and never shown twice without saying so.
package struct MessageSender: Sendable {
  package let conversation: ConversationKey
  package let holder: ConnectionSlot
  package let store: SQLiteStore
  package let timeSource: TimeSource
  package let settings: Config.DeliverySettings
  /// Names the conversation on every line.
  package let logger: Logger
  /// Asked right before each send: false where the conversation is to be shown nothing any more.
  let mayReceive: @Sendable (ConversationKey, PluginConnection) -> Bool
  let attempts: AttemptRunner

  package init(
    conversation: ConversationKey, holder: ConnectionSlot, store: SQLiteStore, timeSource: TimeSource,
    settings: Config.DeliverySettings, logger: Logger,
    mayReceive: @escaping @Sendable (ConversationKey, PluginConnection) -> Bool = { _, _ in true }
  ) {
    self.conversation = conversation
    self.holder = holder
    self.store = store
    self.timeSource = timeSource
    self.settings = settings
    self.logger = logger.with(conversation)
    self.mayReceive = mayReceive
    attempts = AttemptRunner(store: store, timeSource: timeSource, maximumTries: settings.attempts)
  }

  /// The answer to a send that is dropped.
  static let revoked = DeliveryAttempt.Answer.refused("the pairing of the conversation was revoked")

  package static let repeatMark = "(possible repeat) "

  /// The end of a change of a message.
  package enum ChangeEnd: Sendable, Equatable {
    case done
    /// The messenger shows it later, unless another change comes first.
    case putOff
    /// Not shown; the next change of a growing message may be tried after this time.
    case wait(Duration)
    case gone
    case rejected
    /// The messenger crashed over it.
    case setAside
    /// The daemon ends, or the messenger is gone for good.
    case interrupted
  }

  /// A message on the platform.
  package struct Sent: Codable, Equatable {
    /// The key that it was sent under.
    package var key: String
    package var message: String
    /// An earlier try may have arrived too. The text is marked, and every later text of the message must be marked as
    /// well.
    package var mayBeRepeat = false

    package init(key: String, message: String, mayBeRepeat: Bool = false) {
      self.key = key
      self.message = message
      self.mayBeRepeat = mayBeRepeat
    }
  }

  /// Composes a new message, which is recorded and sent later.
  ///
  /// - Parameters:
  ///   - streaming: the message will be changed or removed later.
  ///   - key: the key under which an earlier daemon has recorded it.
  package func compose(
    _ text: String, role: MessageRole, buttons: [[Button]]? = nil, replyTo: String? = nil, streaming: Bool = false,
    key: String? = nil
  ) -> OutboundRecord {
    let request = MessageSend(
      key: key ?? UUID().uuidString, conversation: conversation.conversation, text: text, role: role, replyTo: replyTo,
      buttons: buttons, streaming: streaming ? true : nil)
    return OutboundRecord(key: request.key, conversation: conversation, request: .message(request))
  }

  /// Records and sends something; nil when it could not be sent.
  package func send(_ record: OutboundRecord) async -> Sent? {
    await self.record([record]) ? await sendRecorded(record) : nil
  }

  /// Sends a file beneath the instance's spool folder.
  package func send(file path: String, name: String, mime: String, caption: String?) async -> Sent? {
    let request = FileSend(
      key: UUID().uuidString, conversation: conversation.conversation, path: path, name: name, mime: mime,
      caption: caption)
    return await send(OutboundRecord(key: request.key, conversation: conversation, request: .file(request)))
  }

  /// Shows a question; where the messenger has no dialogs, as a message.
  package func show(_ request: DialogShow) async -> Sent? {
    await send(OutboundRecord(key: request.key, conversation: conversation, request: .dialog(request)))
  }

  /// Tries once to make a message show something.
  ///
  /// - Returns: `nil` when the daemon ends, or the messenger is gone for good.
  package func edit(_ edit: MessageEdit) async -> (answer: DeliveryAttempt.Answer, isPutOff: Bool)? {
    guard let link = await holder.wait() else { return nil }
    guard mayReceive(conversation, link) else { return (Self.revoked, false) }
    var isPutOff = false
    let answer = await DeliveryAttempt.Answer {
      let receipt = try await link.request(edit)
      isPutOff = receipt.putOff == true && edit.streaming == true
      return receipt.message
    }
    return (answer, isPutOff)
  }

  /// - Parameter streaming: the message is still growing.
  package func composeEdit(of message: String, to text: String, streaming: Bool = false) -> MessageEdit {
    MessageEdit(
      conversation: conversation.conversation, message: message, text: text, streaming: streaming ? true : nil)
  }

  /// Makes a message show something. A growing one waits for its next change instead of trying again.
  ///
  /// - Parameters:
  ///   - key: the record of the change.
  ///   - early: the answer to a first try.
  package func change(
    _ edit: MessageEdit, key: String? = nil, after tries: SendTries = SendTries(),
    early: DeliveryAttempt.Answer? = nil
  ) async -> ChangeEnd {
    var early = early
    var isPutOff = false
    let kind: DeliveryAttempt.Kind = edit.streaming == true ? .growth : .change
    let end = await attempts.run(attempts.attempt(kind, after: tries), key: key) { _ in
      if let answer = early.take() { return answer }
      guard let (answer, putOff) = await self.edit(edit) else { return nil }
      isPutOff = putOff
      return answer
    }
    switch end {
    case .succeeded:
      settleSend(key, .sent(message: edit.message))
      return isPutOff ? .putOff : .done
    case .postponed(let delay): return .wait(delay)
    case .interrupted: return .interrupted
    case .gaveUp(.gone): return .gone
    case .gaveUp(let reason):
      logger.warning("a message could not be changed: \(reason)")
      guard case .crashes = reason else { return .rejected }
      settleSend(key, .failed("\(reason)"))
      return .setAside
    }
  }

  /// Removes a message.
  ///
  /// - Returns: false when another try, or another daemon, may yet succeed.
  package func delete(_ message: String) async -> Bool {
    let request = MessageDelete(conversation: conversation.conversation, message: message)
    let end = await attempts.run(attempts.attempt(.change, limit: 3)) { _ in
      guard let link = await holder.wait() else { return nil }
      return await DeliveryAttempt.Answer {
        _ = try await link.request(request)
        return nil
      }
    }
    switch end {
    case .succeeded: return true
    case .postponed, .interrupted: return false
    case .gaveUp(.crashes), .gaveUp(.triesUsedUp):
      logger.warning("a message could not be removed; the next start tries it again")
      return false
    case .gaveUp(let reason):
      // The message stays, which does no harm.
      logger.warning("a message could not be removed: \(reason)")
      return true
    }
  }

  /// Removes a message that would have been changed, and records that nothing more must be done with it.
  package func remove(_ sent: Sent) async {
    if await delete(sent.message) { store.scheduleCloseOutbound(sent.key) }
  }

  /// Replaces a question that is settled.
  ///
  /// - Parameter below: the text in messages of their own, where the messenger cannot change the question.
  package func closeDialog(_ dialog: String, shown sent: Sent, text: String, below: [String]? = nil) async {
    let request = DialogClose(
      conversation: conversation.conversation, message: sent.message, dialog: dialog, text: text)
    let records =
      below.map { $0.map { compose($0, role: .notice) } }
      ?? [OutboundRecord(key: UUID().uuidString, conversation: conversation, request: .close(request))]
    guard await self.record(records, closing: sent.key) else { return }
    for record in records { _ = await sendRecorded(record) }
  }

  /// Says something new in place of what a message shows.
  ///
  /// - Parameter ending: the message whose end this reports.
  /// - Returns: false when it could not be recorded.
  package func change(_ message: String, _ text: String, _ buttons: [[Button]]?, ending: MessageEnd) async -> Bool {
    let request = MessageEdit(
      conversation: conversation.conversation, message: message, text: text, buttons: buttons)
    let record = OutboundRecord(key: UUID().uuidString, conversation: conversation, request: .edit(request))
    guard await self.record([record], ending: ending) else { return false }
    _ = await resend(request, key: record.key, after: SendTries())
    return true
  }

  /// Ends a message about which nothing more is shown.
  package func endMessage(_ end: MessageEnd) async {
    if await record([], ending: end) { await tell(end) }
  }

  /// Says how a person's message ended, where the messenger wants to know.
  package func tell(_ end: MessageEnd) async {
    let request = MessageSettled(
      conversation: conversation.conversation, message: end.key.id, outcome: end.outcome)
    let told = await attempts.run(attempts.attempt(limit: 3)) { _ in
      guard let link = await holder.wait() else { return nil }
      guard link.capabilities.outcomes == true else { return .delivered() }
      do throws(ConnectionError) {
        _ = try await link.request(request)
        return .delivered()
      } catch {
        // Another try does no harm after any failure.
        logger.info("the outcome of a message could not be reported: \(error)")
        return .notDelivered
      }
    }
    if case .succeeded = told { store.scheduleOutcomeTold(end.key) }
  }

  package func typing(_ active: Bool) async {
    guard let link = holder.current, link.capabilities.typing == true, !active || mayReceive(conversation, link) else {
      return
    }
    do {
      _ = try await link.request(TypingSet(conversation: conversation.conversation, active: active))
    } catch {
      logger.info("typing could not be shown: \(error)")
    }
  }
}
