internal import FoundationEssentials
internal import Logging
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
package import RelayModel
internal import RelayStore
package import RelayWire

// Sends that are recorded first, settled by the plugin's receipt, and never shown twice without saying so.
extension MessageSender {
  /// Records in one step what is then sent one by one.
  ///
  /// - Parameters:
  ///   - ending: the message whose end this reports.
  ///   - closing: the key of a send that needs no further change.
  ///   - superseding: the key of a record that must not be sent any more.
  package func record(
    _ records: [OutboundRecord], ending: MessageEnd? = nil, closing: String? = nil, superseding: String? = nil
  ) async -> Bool {
    if records.isEmpty, ending == nil, closing == nil, superseding == nil { return true }
    let end = await attempts.run(attempts.attempt()) { _ in
      do {
        try await store.recordOutbound(records, ending: ending, closing: closing, superseding: superseding)
        return .delivered()
      } catch {
        logger.error("a message waits, because it could not be recorded: \(error)")
        // Where nothing is stored any more, the message that it answers does not end either.
        return (error as? StoreError)?.isLasting == true ? .refused("\(error)") : .notDelivered
      }
    }
    if case .succeeded = end { return true }
    return false
  }

  /// Records the last change of a message that has grown, and the messages that follow it.
  ///
  /// - Parameter closing: the key that the message was sent under.
  /// - Returns: the key to settle the change by; `nil` when it could not be recorded.
  package func recordLast(
    _ text: String, of message: String, closing: String?, followedBy rest: [OutboundRecord]
  ) async -> String? {
    let key = UUID().uuidString
    let record = OutboundRecord(
      key: key, conversation: conversation, request: .edit(composeEdit(of: message, to: text)))
    return await self.record([record] + rest, closing: closing) ? key : nil
  }

  /// Changes a message for the last time.
  package func complete(_ sent: Sent, as text: String, role: MessageRole) async {
    let key = await recordLast(text, of: sent.message, closing: sent.key, followedBy: [])
    guard let key else { return }
    _ = await resend(composeEdit(of: sent.message, to: text), key: key, after: SendTries(), role: role)
  }

  package func settleSend(_ key: String?, _ result: OutboundResult) {
    if let key { store.scheduleSettleOutbound(key, result) }
  }

  /// Sends what an earlier daemon recorded and did not see settled.
  ///
  /// - Returns: false when it was given up.
  package func resend(_ unfinished: UnfinishedOutbound) async -> Bool {
    let record = unfinished.record
    if case .edit(let edit) = record.request { return await resend(edit, key: record.key, after: unfinished.tries) }
    let sent = await sendRecorded(record, mayHaveArrived: true, after: unfinished.tries)
    return sent != nil || Task.isCancelled
  }

  /// - Parameter role: of the message.
  func resend(_ edit: MessageEdit, key: String, after tries: SendTries, role: MessageRole = .answer) async -> Bool {
    switch await change(edit, key: key, after: tries) {
    case .done, .putOff, .wait, .interrupted: return true
    case .setAside: return false
    case .gone: return await sendInstead(edit, key: key, role: role) != nil || Task.isCancelled
    case .rejected: return await replace(edit, key: key, role: role)
    }
  }

  /// Sends what a message cannot be changed to say any more as a message of its own, and removes the one before.
  private func replace(_ edit: MessageEdit, key: String, role: MessageRole) async -> Bool {
    guard await sendInstead(edit, key: key, role: role) != nil else { return Task.isCancelled }
    _ = await delete(edit.message)
    return true
  }

  private func sendInstead(_ edit: MessageEdit, key: String, role: MessageRole) async -> Sent? {
    let record = compose(edit.text, role: role)
    return await self.record([record], superseding: key) ? await sendRecorded(record) : nil
  }

  /// Looks up the message that an earlier daemon sent, or was about to: `nil` where it did not arrive, or nobody can tell.
  package func locate(_ unfinished: UnfinishedOutbound) async -> Sent? {
    let key = unfinished.record.key
    if let message = unfinished.message { return Sent(key: key, message: message) }
    guard let link = await holder.wait(), let found = await lookUp(key) else { return nil }
    if case .present(let message) = found {
      settleSend(key, .sent(message: message))
      return Sent(key: key, message: message)
    }
    // The platform answers a repeat of the key with what it has.
    return link.capabilities.idempotencyKey == true
      ? await sendRecorded(unfinished.record, after: unfinished.tries) : nil
  }

  /// Sends a recorded message. When the daemon ends first, the record stays unsettled for the next one.
  ///
  /// - Parameter willMark: called before the text is sent with the mark of a possible repeat.
  /// - Returns: `nil` when the message could not be sent.
  package func sendRecorded(
    _ record: OutboundRecord, mayHaveArrived: Bool = false, after tries: SendTries = SendTries(),
    willMark: () -> Void = {}
  ) async -> Sent? {
    let key = record.key
    // Closing a question once more shows the same.
    let closed: String? = if case .close(let request) = record.request { request.message } else { nil }
    let attempt = DeliveryAttempt(
      closed == nil ? .addition : .repeatable, .init(tries: settings.attempts), after: tries,
      mayHaveArrived: mayHaveArrived)
    var last: PluginConnection?
    let end = await attempts.run(attempt, key: key, lookUp: { await lookUp(key, after: last) }) { marked in
      guard let link = await holder.wait() else { return nil }
      last = link
      // A question is taken back all the same.
      guard closed != nil || mayReceive(conversation, link) else { return Self.revoked }
      if marked { willMark() }
      return await DeliveryAttempt.Answer { try await record.request.send(through: link, marked: marked) }
    }
    switch end {
    case .succeeded(let message, let mayBeRepeat):
      guard let message = message ?? closed else { return nil }
      settleSend(key, .sent(message: message))
      return Sent(key: key, message: message, mayBeRepeat: mayBeRepeat)
    case .gaveUp(let reason):
      logger.error("a message could not be sent: \(reason)")
      settleSend(key, .failed("\(reason)"))
      return nil
    case .postponed, .interrupted: return nil
    }
  }

  /// Finds out what became of a send whose answer was lost, through the next process of the plugin.
  private func lookUp(_ key: String, after failed: PluginConnection? = nil) async -> DeliveryAttempt.LookUp? {
    var last = failed
    var withoutLookUp: DeliveryAttempt.LookUp?
    let attempt = DeliveryAttempt(.repeatable, .init(tries: settings.attempts, crashes: 3))
    let end = await attempts.run(attempt) { _ in
      if let last { await outlive(last) }
      guard let link = await holder.wait() else { return nil }
      last = link
      guard link.capabilities.lookup == true else {
        // The platform refuses a second message with the same key, so it can simply be sent again.
        withoutLookUp = link.capabilities.idempotencyKey == true ? .absent : .inconclusive
        return .delivered()
      }
      let answer = await DeliveryAttempt.Answer {
        try await link.request(MessageLookup(conversation: conversation.conversation, key: key)).message
      }
      return switch answer {
      // An answer that says nothing does not change by asking again.
      case .unreadable(let why), .failed(let why): .refused(why)
      default: answer
      }
    }
    switch end {
    case .succeeded(let message, _):
      return withoutLookUp ?? message.map { DeliveryAttempt.LookUp.present(message: $0) } ?? .absent
    case .gaveUp: return .inconclusive
    case .postponed, .interrupted: return nil
    }
  }

  /// Waits a moment for a connection that has ended to leave its place.
  private func outlive(_ link: PluginConnection) async {
    for _ in 0..<100 where holder.current === link && link.isOver {
      guard await timeSource.sleep(for: .milliseconds(10)) else { return }
    }
  }
}
