internal import FoundationEssentials
internal import RelayPipes
internal import RelayStore
internal import RelayWire

/// Sends to one conversation: recorded before, settled by the plugin's receipt, tried again by the class of failure,
/// and never shown twice without saying so.
struct Delivery: Sendable {
  let conversation: ConversationKey
  let holder: LinkHolder
  let store: any Store
  let timekeeper: Timekeeper
  let log: @Sendable (String) -> Void

  /// Tries of one send before it is given up, about ten minutes in all.
  static let maximumAttempts = 24
  static let longestDelay: Duration = .seconds(30)
  static let repeatMark = "(possible repeat) "

  enum EditOutcome: Equatable {
    case done
    case wait(Duration)
    case gone
    case failed
    /// The messenger ended, or fell silent, over it.
    case lost
  }

  /// A request that ends its plugin twice is set aside.
  static let maximumDeaths = 2

  private enum NextStep {
    case retry(after: Duration)
    case resolve
    case giveUp(String)
  }

  /// A message on the platform.
  struct Sent: Equatable {
    var message: String
    /// An earlier try may have arrived too; the text says so, and must go on saying it when it is changed.
    var mayBeRepeat = false
  }

  /// Sends a new message; nil when it could not be sent.
  func send(
    _ text: String, role: MessageRole, replyTo: String? = nil, buttons: [[Button]]? = nil, streaming: Bool = false
  ) async -> Sent? {
    let request = MessageSend(
      key: UUID().uuidString, conversation: conversation.conversation, text: text, role: role, replyTo: replyTo,
      buttons: buttons, streaming: streaming ? true : nil)
    return await deliver(key: request.key, text: text) { link, mark in
      var request = request
      if mark { request.text = Self.repeatMark + request.text }
      return try await link.request(request).message
    }
  }

  /// Sends a file beneath the instance's spool folder.
  func send(file path: String, name: String, mime: String, caption: String?) async -> Sent? {
    let request = FileSend(
      key: UUID().uuidString, conversation: conversation.conversation, path: path, name: name, mime: mime,
      caption: caption)
    return await deliver(key: request.key, text: "[file \(name)]") { link, _ in
      try await link.request(request, within: .seconds(120)).message
    }
  }

  /// Shows a question; where the messenger has no dialogs, as a message.
  func show(_ request: DialogShow) async -> Sent? {
    await deliver(key: request.key, text: request.text) { link, mark in
      var request = request
      if mark { request.text = Self.repeatMark + request.text }
      guard link.capabilities.buttons != nil else {
        let plain = MessageSend(
          key: request.key, conversation: request.conversation, text: request.text, role: .dialog)
        return try await link.request(plain).message
      }
      return try await link.request(request).message
    }
  }

  private func deliver(
    key: String, text: String, _ attempt: (PluginLink, _ mark: Bool) async throws -> String
  ) async -> Sent? {
    do {
      try await store.recordOutbound(OutboundRecord(key: key, conversation: conversation, text: text))
    } catch {
      log("\(conversation): a message was not sent because it could not be recorded: \(error)")
      return nil
    }
    var mark = false
    var deaths = 0
    tries: for number in 0..<Self.maximumAttempts {
      guard let link = await holder.wait() else { break tries }
      do {
        let message = try await attempt(link, mark)
        await settle(key, .sent(message: message))
        return Sent(message: message, mayBeRepeat: mark)
      } catch {
        switch Self.nextStep(after: error, attempt: number) {
        case .giveUp(let why):
          log("\(conversation): a message could not be sent: \(why)")
          await settle(key, .failed(why))
          return nil
        case .retry(let delay):
          guard await timekeeper.sleep(for: delay) else { break tries }
        case .resolve:
          deaths += 1
          if deaths >= Self.maximumDeaths, error as? PeerError == .closed {
            log("\(conversation): a message ended its messenger \(deaths) times and was set aside")
            await settle(key, .failed("it ended the messenger \(deaths) times"))
            return nil
          }
          switch await resolve(key, after: link) {
          case .sent(let message):
            await settle(key, .sent(message: message))
            return Sent(message: message)
          case .notSent: break
          case .unknowable: mark = true
          }
          if number > 0, await !timekeeper.sleep(for: Self.backoff(number)) { break tries }
        }
      }
    }
    await settle(key, .unknown)
    log("\(conversation): a message was given up after all tries, or because its messenger or the daemon went away")
    return nil
  }

  private func settle(_ key: String, _ result: OutboundResult) async {
    do {
      try await store.settleOutbound(key, result)
    } catch {
      log("\(conversation): what became of a message could not be recorded: \(error)")
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

  private static func backoff(_ attempt: Int) -> Duration {
    min(longestDelay, .milliseconds(250) * (1 << min(attempt, 10)))
  }

  private enum Resolution {
    case sent(String)
    case notSent
    case unknowable
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

  func edit(_ message: String, _ text: String, streaming: Bool = false) async -> EditOutcome {
    guard let link = await holder.wait() else { return .failed }
    let request = MessageEdit(
      conversation: conversation.conversation, message: message, text: text, streaming: streaming ? true : nil)
    do {
      _ = try await link.request(request)
      return .done
    } catch .refused(let refusal) {
      switch DeliveryFailure(refusal) {
      case .rateLimited(let seconds)?: return .wait(.seconds(seconds))
      case .transient?, .unknownOutcome?: return .wait(.seconds(1))
      case .notFound?: return .gone
      default:
        if refusal.code == .busy { return .wait(.milliseconds(500)) }
        log("\(conversation): a message could not be changed: \(refusal.message)")
        return .failed
      }
    } catch .notSent {
      return .wait(.milliseconds(250))
    } catch {
      // The same text once more does no harm: an edit says what the message shall be, not what to add.
      return .lost
    }
  }

  /// Removes a message; one that cannot be removed stays, which harms nobody.
  func delete(_ message: String) async {
    guard let link = holder.current else { return }
    do {
      _ = try await link.request(MessageDelete(conversation: conversation.conversation, message: message))
    } catch {
      log("\(conversation): a message could not be removed: \(error)")
    }
  }

  func closeDialog(_ dialog: String, message: String, text: String) async {
    guard let link = await holder.wait() else { return }
    do {
      if link.capabilities.buttons != nil {
        _ = try await link.request(
          DialogClose(conversation: conversation.conversation, message: message, dialog: dialog, text: text))
      } else if link.capabilities.edit == true {
        _ = try await link.request(
          MessageEdit(conversation: conversation.conversation, message: message, text: text))
      }
    } catch {
      log("\(conversation): a question could not be closed: \(error)")
    }
  }

  /// Says how a person's message ended, where the messenger wants to know.
  func settled(_ message: String, _ outcome: MessageSettled.Outcome) async {
    let request = MessageSettled(conversation: conversation.conversation, message: message, outcome: outcome)
    for number in 0..<3 {
      guard let link = await holder.wait(), link.capabilities.outcomes == true else { return }
      do {
        _ = try await link.request(request)
        return
      } catch {
        log("\(conversation): the outcome of a message could not be told: \(error)")
        guard await timekeeper.sleep(for: Self.backoff(number)) else { return }
      }
    }
  }

  func typing(_ active: Bool) async {
    guard let link = holder.current, link.capabilities.typing == true else { return }
    do {
      _ = try await link.request(TypingSet(conversation: conversation.conversation, active: active))
    } catch {
      log("\(conversation): typing could not be shown: \(error)")
    }
  }
}
