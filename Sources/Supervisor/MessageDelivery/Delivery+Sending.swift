internal import FoundationEssentials
internal import PluginRuntime
internal import RelayConcurrency
package import RelayModel
internal import RelayStore
internal import RelayTransport
package import RelayWire

// One send, from its record to its receipt: tried again by the class of failure, and never shown twice without saying so.
extension Delivery {
  private enum NextStep {
    case retry(after: Duration)
    case resolve
    case giveUp(String)
  }

  private enum Resolution {
    case sent(String)
    case notSent
    case unknowable
  }

  /// Records, in one step, what is then sent one by one.
  ///
  /// - Parameters:
  ///   - ending: the message whose end this reports.
  ///   - closing: what was sent under this key needs no further change.
  ///   - superseding: what was recorded under this key is not to be sent any more.
  package func record(
    _ records: [OutboundRecord], ending: MessageEnd? = nil, closing: String? = nil, superseding: String? = nil
  ) async -> Bool {
    if records.isEmpty, ending == nil, closing == nil, superseding == nil { return true }
    for number in 0..<maximumAttempts {
      do {
        try await store.recordOutbound(records, ending: ending, closing: closing, superseding: superseding)
        return true
      } catch {
        log("\(conversation): a message is not sent before it is recorded: \(error)")
        // Where nothing is stored any more, the message that it answers does not end either.
        if (error as? StoreError)?.isLasting == true { return false }
        guard await timekeeper.sleep(for: Self.backoff(number)) else { return false }
      }
    }
    return false
  }

  /// The last change of a message that has grown, with what follows it.
  ///
  /// - Parameter closing: what the message was sent under.
  /// - Returns: the key to settle it by; nil when it could not be recorded.
  package func recordLast(
    _ text: String, of message: String, closing: String?, followedBy rest: [OutboundRecord]
  ) async -> String? {
    let key = UUID().uuidString
    let edit = MessageEdit(conversation: conversation.conversation, message: message, text: text)
    let record = OutboundRecord(key: key, conversation: conversation, request: .edit(edit))
    return await self.record([record] + rest, closing: closing) ? key : nil
  }

  /// Changes a message for the last time.
  package func complete(_ sent: Sent, as text: String, role: MessageRole) async {
    let key = await recordLast(text, of: sent.message, closing: sent.key, followedBy: [])
    guard let key else { return }
    let edit = MessageEdit(conversation: conversation.conversation, message: sent.message, text: text)
    _ = await resend(edit, key: key, after: SendTries(), role: role)
  }

  package func settle(_ key: String?, _ result: OutboundResult) {
    if let key { store.settleOutboundSoon(key, result) }
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
    var deaths = 0
    guard await wait(tries) else { return true }
    for number in attempts(after: tries) {
      switch await self.edit(edit.message, edit.text, buttons: edit.buttons) {
      case .done, .putOff:
        settle(key, .sent(message: edit.message))
        return true
      case .wait(let delay):
        store.retryOutboundSoon(key, SendTries(failed: number + 1, wait: delay))
        guard await timekeeper.sleep(for: delay) else { return true }
      case .lost:
        deaths += 1
        store.retryOutboundSoon(key, SendTries(failed: number + 1))
        guard deaths < Self.maximumDeaths else {
          log("\(conversation): a change of a message was not answered \(deaths) times and was set aside")
          settle(key, .failed("the messenger did not answer it \(deaths) times"))
          return false
        }
      case .gone: return await sendInstead(edit, key: key, role: role) != nil || Task.isCancelled
      case .failed: return await replace(edit, key: key, role: role)
      case .over: return true
      }
    }
    log("\(conversation): changing a message was given up after \(maximumAttempts) tries")
    return await replace(edit, key: key, role: role)
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

  /// The tries that are left.
  private func attempts(after tries: SendTries) -> Range<Int> { min(tries.failed, maximumAttempts)..<maximumAttempts }

  /// Waits as long as the last daemon would have; false when cancelled.
  private func wait(_ tries: SendTries) async -> Bool {
    guard tries.wait > .zero else { return true }
    return await timekeeper.sleep(for: tries.wait)
  }

  /// What an earlier daemon sent, or was about to: nil where it did not arrive, or nobody can tell.
  package func whereabouts(of unfinished: UnfinishedOutbound) async -> Sent? {
    let key = unfinished.record.key
    if let message = unfinished.message { return Sent(key: key, message: message) }
    guard let link = await holder.wait() else { return nil }
    if case .sent(let message) = await resolve(key, after: link) {
      settle(key, .sent(message: message))
      return Sent(key: key, message: message)
    }
    // The platform answers a repeat of the key with what it has.
    return link.capabilities.idempotencyKey == true
      ? await sendRecorded(unfinished.record, after: unfinished.tries) : nil
  }

  private func perform(_ request: OutboundRecord.Request, _ link: PluginLink, marked: Bool) async throws -> String {
    let mark = marked ? Self.repeatMark : ""
    switch request {
    case .message(var request):
      if !request.text.hasPrefix(mark) { request.text = mark + request.text }
      return try await link.request(request).message
    case .file(var request):
      if marked { request.caption = mark + (request.caption ?? "") }
      return try await link.request(request, within: .seconds(120)).message
    case .edit(let request): return try await link.request(request).message ?? request.message
    case .dialog(var request):
      request.text = mark + request.text
      guard link.capabilities.buttons != nil else {
        let plain = MessageSend(
          key: request.key, conversation: request.conversation, text: request.text, role: .dialog)
        return try await link.request(plain).message
      }
      return try await link.request(request).message
    case .close(let request):
      if link.capabilities.buttons != nil {
        _ = try await link.request(request)
      } else if link.capabilities.edit == true {
        _ = try await link.request(
          MessageEdit(conversation: request.conversation, message: request.message, text: request.text))
      }
      return request.message
    }
  }

  /// Nil when it could not be sent. When the daemon ends first it stays unsettled, for the next one.
  ///
  /// - Parameter willMark: called before the text is sent with the mark of a possible repeat.
  package func sendRecorded(
    _ record: OutboundRecord, mayHaveArrived: Bool = false, after tries: SendTries = SendTries(),
    willMark: () -> Void = {}
  ) async -> Sent? {
    let key = record.key
    guard await wait(tries) else { return nil }
    var mark = false
    var deaths = 0
    // Closing a question once more shows the same.
    let isRepeatable = if case .close = record.request { true } else { false }
    if mayHaveArrived, !isRepeatable {
      guard let link = await holder.wait() else { return nil }
      if let sent = await found(key, after: link, &mark) { return sent }
    }
    for number in attempts(after: tries) {
      guard let link = await holder.wait() else { return nil }
      if mark { willMark() }
      do {
        let message = try await perform(record.request, link, marked: mark)
        settle(key, .sent(message: message))
        return Sent(key: key, message: message, mayBeRepeat: mark)
      } catch {
        if Task.isCancelled { return nil }
        switch Self.nextStep(after: error, attempt: number) {
        case .giveUp(let why):
          log("\(conversation): a message could not be sent: \(why)")
          settle(key, .failed(why))
          return nil
        case .retry(let delay):
          store.retryOutboundSoon(key, SendTries(failed: number + 1, wait: delay))
          guard await timekeeper.sleep(for: delay) else { return nil }
        case .resolve:
          // The platform may be in doubt as often as it likes; what counts is who dies of it.
          if error as? ConnectionError == .closed { deaths += 1 }
          if deaths >= Self.maximumDeaths, error as? ConnectionError == .closed {
            log("\(conversation): the connection ended \(deaths) times while a message was sent, which was set aside")
            settle(key, .failed("the connection to the messenger ended \(deaths) times over it"))
            return nil
          }
          store.retryOutboundSoon(key, SendTries(failed: number + 1))
          if !isRepeatable, let sent = await found(key, after: link, &mark) { return sent }
          if case .unreadable? = error as? ConnectionError, mark || number > 0 {
            // A result says that it was sent. Nobody can tell as what: once more would show it twice.
            log("\(conversation): a message was sent, and cannot be changed any more: \(error)")
            settle(key, .failed("\(error)"))
            return nil
          }
          if number > 0, await !timekeeper.sleep(for: Self.backoff(number)) { return nil }
        }
      }
    }
    log("\(conversation): a message was given up after \(maximumAttempts) tries")
    settle(key, .failed("given up after \(maximumAttempts) tries"))
    return nil
  }

  /// What was sent after all. Where nobody can tell, the next try is to be marked.
  private func found(_ key: String, after failed: PluginLink, _ mark: inout Bool) async -> Sent? {
    switch await resolve(key, after: failed) {
    case .sent(let message):
      settle(key, .sent(message: message))
      return Sent(key: key, message: message)
    case .notSent: return nil
    case .unknowable:
      mark = true
      return nil
    }
  }

  private static func nextStep(after error: any Error, attempt: Int) -> NextStep {
    let backoff = backoff(attempt)
    guard let error = error as? ConnectionError else { return .giveUp("\(error)") }
    switch error {
    case .closed, .timedOut, .unreadable: return .resolve
    case .notSent: return .retry(after: backoff)
    case .refused(let refusal):
      if refusal.code == .busy { return .retry(after: backoff) }
      // The plugin failed in some way of its own: before or after the platform had the message, nobody knows.
      if refusal.code == .internalError { return .resolve }
      switch DeliveryFailure(refusal) {
      case .transient?: return .retry(after: backoff)
      case .rateLimited(let seconds)?: return .retry(after: .seconds(seconds))
      case .unknownOutcome?: return .resolve
      default: return .giveUp(refusal.message)
      }
    }
  }

  static func backoff(_ attempt: Int) -> Duration {
    min(longestDelay, .milliseconds(250) * (1 << min(attempt, 10)))
  }

  /// Lives of a messenger that a lookup may end before it is taken to be the reason.
  private static let mostDeathsByLookup = 3

  /// Finds out what became of a send whose answer was lost, through the next life of the plugin.
  private func resolve(_ key: String, after failed: PluginLink) async -> Resolution {
    var deaths = 0
    var last = failed
    for number in 0..<maximumAttempts {
      await outlive(last)
      guard let link = await holder.wait() else { return .unknowable }
      guard link.capabilities.lookup == true else {
        // The platform refuses a second message with the same key, so it can simply be sent again.
        return link.capabilities.idempotencyKey == true ? .notSent : .unknowable
      }
      last = link
      do {
        let found = try await link.request(MessageLookup(conversation: conversation.conversation, key: key))
        return found.message.map(Resolution.sent) ?? .notSent
      } catch {
        guard let wait = Self.waitBeforeLookup(after: error, attempt: number) else { return .unknowable }
        if case .closed = error { deaths += 1 }
        guard deaths < Self.mostDeathsByLookup, await timekeeper.sleep(for: wait) else { return .unknowable }
      }
    }
    return .unknowable
  }

  /// Nil where another try would answer the same.
  private static func waitBeforeLookup(after error: ConnectionError, attempt: Int) -> Duration? {
    switch error {
    case .closed, .notSent, .timedOut: return backoff(min(attempt, 2))
    case .unreadable: return nil
    case .refused(let refusal):
      if refusal.code == .busy { return backoff(attempt) }
      switch DeliveryFailure(refusal) {
      case .rateLimited(let seconds)?: return .seconds(seconds)
      case .transient?: return backoff(attempt)
      default: return nil
      }
    }
  }

  /// The dead life may still be in its place for a moment.
  private func outlive(_ link: PluginLink) async {
    for _ in 0..<100 where holder.current === link && link.isOver {
      guard await timekeeper.sleep(for: .milliseconds(10)) else { return }
    }
  }
}
