internal import FoundationEssentials
internal import RelayPipes
internal import RelayStore
internal import RelayWire

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

  func deliver(_ request: OutboundRecord.Request, key: String, ending: MessageEnd? = nil) async -> Sent? {
    let record = OutboundRecord(key: key, conversation: conversation, request: request)
    guard await self.record(record, ending: ending) else { return nil }
    return await send(record)
  }

  /// Records the last change of a message that has grown; answers the key to settle it by.
  func recordLast(_ text: String, of message: String) async -> String? {
    let key = UUID().uuidString
    let edit = MessageEdit(conversation: conversation.conversation, message: message, text: text)
    let record = OutboundRecord(key: key, conversation: conversation, request: .edit(edit))
    return await self.record(record) ? key : nil
  }

  func settle(_ key: String?, _ result: OutboundResult) {
    if let key { store.settleOutboundSoon(key, result) }
  }

  /// Sends what an earlier daemon recorded and did not see settled.
  func resend(_ record: OutboundRecord) async {
    switch record.request {
    case .message(var message):
      // What it would have grown to is another record, or lost with the run.
      message.streaming = nil
      var record = record
      record.request = .message(message)
      _ = await send(record, mayHaveArrived: true)
    case .file: _ = await send(record, mayHaveArrived: true)
    case .edit(let edit): await resend(edit, key: record.key)
    case .dialog(let dialog): await withdraw(dialog, key: record.key)
    }
  }

  private func resend(_ edit: MessageEdit, key: String) async {
    var deaths = 0
    for _ in 0..<Self.maximumAttempts {
      switch await self.edit(edit.message, edit.text) {
      case .done: return settle(key, .sent(message: edit.message))
      case .wait(let delay): guard await timekeeper.sleep(for: delay) else { return }
      case .lost:
        deaths += 1
        guard deaths < Self.maximumDeaths else { return settle(key, .failed("it ended the messenger")) }
      case .gone, .failed:
        // As for one that is gone while it grows: what it was to say comes as a message of its own.
        if await send(edit.text, role: .answer) != nil { settle(key, .failed("it cannot be changed any more")) }
        return
      case .over: return
      }
    }
    settle(key, .failed("given up after \(Self.maximumAttempts) tries"))
  }

  /// The agent that asked is gone, and its question with it.
  private func withdraw(_ dialog: DialogShow, key: String) async {
    guard let link = await holder.wait() else { return }
    if case .sent(let message) = await resolve(key, after: link) {
      await closeDialog(dialog.dialog, message: message, text: "✖ The question was withdrawn: pi-relayd was restarted.")
    }
    settle(key, .failed("the question was withdrawn"))
  }

  private func record(_ record: OutboundRecord, ending: MessageEnd? = nil) async -> Bool {
    for number in 0..<Self.maximumAttempts {
      do {
        try await store.recordOutbound(record, ending: ending)
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

  private func perform(_ request: OutboundRecord.Request, _ link: PluginLink, marked: Bool) async throws -> String {
    let mark = marked ? Self.repeatMark : ""
    switch request {
    case .message(var request):
      request.text = mark + request.text
      return try await link.request(request).message
    case .file(var request):
      if marked { request.caption = mark + (request.caption ?? "") }
      return try await link.request(request, within: .seconds(120)).message
    case .edit(let request): return try await link.request(request).message
    case .dialog(var request):
      request.text = mark + request.text
      guard link.capabilities.buttons != nil else {
        let plain = MessageSend(
          key: request.key, conversation: request.conversation, text: request.text, role: .dialog)
        return try await link.request(plain).message
      }
      return try await link.request(request).message
    }
  }

  /// Nil when it could not be sent. When the daemon ends first it stays unsettled, for the next one.
  private func send(_ record: OutboundRecord, mayHaveArrived: Bool = false) async -> Sent? {
    let key = record.key
    var mark = false
    var deaths = 0
    if mayHaveArrived {
      guard let link = await holder.wait() else { return nil }
      if let sent = await found(key, after: link, &mark) { return sent }
    }
    for number in 0..<Self.maximumAttempts {
      guard let link = await holder.wait() else { return nil }
      do {
        let message = try await perform(record.request, link, marked: mark)
        settle(key, .sent(message: message))
        return Sent(message: message, mayBeRepeat: mark)
      } catch {
        if Task.isCancelled { return nil }
        switch Self.nextStep(after: error, attempt: number) {
        case .giveUp(let why):
          log("\(conversation): a message could not be sent: \(why)")
          settle(key, .failed(why))
          return nil
        case .retry(let delay):
          guard await timekeeper.sleep(for: delay) else { return nil }
        case .resolve:
          deaths += 1
          if deaths >= Self.maximumDeaths, error as? PeerError == .closed {
            log("\(conversation): a message ended its messenger \(deaths) times and was set aside")
            settle(key, .failed("it ended the messenger \(deaths) times"))
            return nil
          }
          if let sent = await found(key, after: link, &mark) { return sent }
          if number > 0, await !timekeeper.sleep(for: Self.backoff(number)) { return nil }
        }
      }
    }
    log("\(conversation): a message was given up after \(Self.maximumAttempts) tries")
    settle(key, .failed("given up after \(Self.maximumAttempts) tries"))
    return nil
  }

  /// What was sent after all. Where nobody can tell, the next try is to be marked.
  private func found(_ key: String, after failed: PluginLink, _ mark: inout Bool) async -> Sent? {
    switch await resolve(key, after: failed) {
    case .sent(let message):
      settle(key, .sent(message: message))
      return Sent(message: message)
    case .notSent: return nil
    case .unknowable:
      mark = true
      return nil
    }
  }

  private static func nextStep(after error: any Error, attempt: Int) -> NextStep {
    let backoff = backoff(attempt)
    guard let error = error as? PeerError else { return .giveUp("\(error)") }
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

  /// Finds out what became of a send whose answer was lost, through the next life of the plugin.
  private func resolve(_ key: String, after failed: PluginLink) async -> Resolution {
    // The dead life may still be in its place for a moment.
    for _ in 0..<100 where holder.current === failed && failed.isOver {
      guard await timekeeper.sleep(for: .milliseconds(10)) else { return .unknowable }
    }
    guard let link = await holder.wait() else { return .unknowable }
    if link.capabilities.lookup == true {
      let request = MessageLookup(conversation: conversation.conversation, key: key)
      // A messenger that cannot say leaves it unknown, whatever the reason.
      guard let found = try? await link.request(request) else { return .unknowable }
      return found.message.map(Resolution.sent) ?? .notSent
    }
    // The platform refuses a second message with the same key, so it can simply be sent again.
    return link.capabilities.idempotencyKey == true ? .notSent : .unknowable
  }
}
