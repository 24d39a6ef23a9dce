internal import FoundationEssentials
internal import PluginRuntime
package import RelayConcurrency
package import RelayConfig
package import RelayModel
package import RelayStore
internal import RelayTransport
package import RelayWire

/// Sends to one conversation: recorded before, settled by the plugin's receipt, tried again by the class of failure,
/// and never shown twice without saying so.
package struct Delivery: Sendable {
  package let conversation: ConversationKey
  package let holder: LinkHolder
  package let store: any Store
  package let timekeeper: Timekeeper
  package let settings: Config.DeliverySettings
  package let log: @Sendable (String) -> Void

  package init(
    conversation: ConversationKey, holder: LinkHolder, store: any Store, timekeeper: Timekeeper,
    settings: Config.DeliverySettings, log: @escaping @Sendable (String) -> Void
  ) {
    self.conversation = conversation
    self.holder = holder
    self.store = store
    self.timekeeper = timekeeper
    self.settings = settings
    self.log = log
  }

  /// Tries of one send before it is given up.
  package var maximumAttempts: Int { settings.attempts }

  static let longestDelay: Duration = .seconds(30)
  package static let repeatMark = "(possible repeat) "

  package enum EditOutcome: Equatable {
    case done
    /// It is shown later, unless another comes first.
    case putOff
    case wait(Duration)
    case gone
    case failed
    /// The messenger ended, or fell silent, over it.
    case lost
    /// The daemon ends, or the messenger is gone for good.
    case over
  }

  /// A request that ends its plugin twice is set aside.
  package static let maximumDeaths = 2

  /// A message on the platform.
  package struct Sent: Codable, Equatable {
    /// What it was sent under.
    package var key: String
    package var message: String
    /// An earlier try may have arrived too; the text says so, and must go on saying it when it is changed.
    package var mayBeRepeat = false

    package init(key: String, message: String, mayBeRepeat: Bool = false) {
      self.key = key
      self.message = message
      self.mayBeRepeat = mayBeRepeat
    }
  }

  /// A new message, to be recorded and sent.
  ///
  /// - Parameters:
  ///   - streaming: it is to be changed, or removed, later.
  ///   - key: where an earlier daemon has recorded it.
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

  package func edit(
    _ message: String, _ text: String, buttons: [[Button]]? = nil, streaming: Bool = false
  ) async -> EditOutcome {
    guard let link = await holder.wait() else { return .over }
    let request = MessageEdit(
      conversation: conversation.conversation, message: message, text: text, buttons: buttons,
      streaming: streaming ? true : nil)
    do {
      return try await link.request(request).putOff == true && streaming ? .putOff : .done
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
    } catch .unreadable {
      // A result, whatever it holds, says that it is done.
      return .done
    } catch {
      if Task.isCancelled { return .over }
      // The same text once more does no harm: an edit says what the message shall be, not what to add.
      return .lost
    }
  }

  /// Removes a message.
  ///
  /// - Returns: false when another try, or another daemon, may yet succeed.
  package func delete(_ message: String) async -> Bool {
    let request = MessageDelete(conversation: conversation.conversation, message: message)
    for number in 0..<3 {
      guard let link = await holder.wait() else { return false }
      do {
        _ = try await link.request(request)
        return true
      } catch {
        guard let wait = Self.waitBeforeDeletion(after: error, attempt: number) else {
          // It stays, which harms nobody.
          log("\(conversation): a message could not be removed: \(error)")
          return true
        }
        guard await timekeeper.sleep(for: wait) else { return false }
      }
    }
    log("\(conversation): a message could not be removed; the next start tries it again")
    return false
  }

  /// Nil where another try would answer the same.
  private static func waitBeforeDeletion(after error: ConnectionError, attempt: Int) -> Duration? {
    guard case .refused(let refusal) = error, refusal.code != .busy else { return backoff(attempt) }
    switch DeliveryFailure(refusal) {
    case .rateLimited(let seconds)?: return .seconds(seconds)
    case .transient?, .unknownOutcome?: return backoff(attempt)
    default: return nil
    }
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

  /// Ends a message of which nothing more is to be said.
  package func end(_ end: MessageEnd) async {
    if await record([], ending: end) { await tell(end) }
  }

  /// Says how a person's message ended, where the messenger wants to know.
  package func tell(_ end: MessageEnd) async {
    let request = MessageSettled(
      conversation: conversation.conversation, message: end.key.id, outcome: end.outcome)
    for number in 0..<3 {
      guard let link = await holder.wait() else { return }
      guard link.capabilities.outcomes == true else { return store.outcomeToldSoon(end.key) }
      do {
        _ = try await link.request(request)
        return store.outcomeToldSoon(end.key)
      } catch {
        log("\(conversation): the outcome of a message could not be told: \(error)")
        guard await timekeeper.sleep(for: Self.backoff(number)) else { return }
      }
    }
  }

  package func typing(_ active: Bool) async {
    guard let link = holder.current, link.capabilities.typing == true else { return }
    do {
      _ = try await link.request(TypingSet(conversation: conversation.conversation, active: active))
    } catch {
      log("\(conversation): typing could not be shown: \(error)")
    }
  }
}
