internal import AgentSessions
internal import FoundationEssentials
internal import Logging
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayWire
internal import SessionStates

/// Messages of programs, which no messenger brings: stored before they are acknowledged, given to their session, and ended
/// without anybody to tell.
final class ProgramMessages: Sendable {
  private let store: SQLiteStore
  private let prompts: PromptRouter
  private let gate: InboundGate
  private let files: ProgramFiles
  private let logger: Logger
  /// Messages on their way to the disk: one id at a time.
  private let storing = Locked<Set<MessageKey>>([])

  /// The longest text of one message, in bytes; that of messengers is the same.
  private static let maximumTextLength = 1 << 20
  private static let maximumIDLength = 128

  init(store: SQLiteStore, prompts: PromptRouter, gate: InboundGate, files: ProgramFiles, logger: Logger) {
    self.store = store
    self.prompts = prompts
    self.gate = gate
    self.files = files
    self.logger = logger
  }

  /// Stores a message, and gives it to its session.
  ///
  /// - Returns: the acknowledgement, once the message is stored.
  func submit(_ request: ProgramPrompt, to session: Session) async throws(WireError) -> PromptReceipt {
    try check(request)
    let id = request.id ?? UUID().uuidString.lowercased()
    let key = MessageKey(
      conversation: ConversationKey(instance: ConversationKey.programs, conversation: session.id),
      id: MessageOrigin.program(id).id)
    guard storing.withLock({ $0.insert(key).inserted }) else {
      throw WireError(.busy, "a message with the id \(id) is being stored; send it again")
    }
    defer { storing.withLock { _ = $0.remove(key) } }
    do {
      if let stage = try await store.stage(of: key) {
        return PromptReceipt(message: id, stage: stage.name, repeated: true)
      }
      // Before it is stored: what is acknowledged is not refused any more.
      guard await !session.isFull else {
        throw WireError(.busy, "too many messages wait in the session; send it again later")
      }
      if gate.isDraining { throw WireError(.busy, "shutting down; send it again to the next daemon") }
      let attachments = try files.write(request.images ?? [], of: key)
      let prompt = Self.prompt(request, key, attachments, files.folder)
      do {
        guard try await store.accept(Self.stored(prompt), state: nil) else {
          throw WireError(.busy, "the id \(id) was stored a moment ago; send it again")
        }
      } catch {
        files.remove(key)
        throw error
      }
      return try await place(prompt, id, in: session, as: request.delivery ?? .auto)
    } catch let error as WireError {
      throw error
    } catch {
      logger.with(key.conversation).error("a message was not accepted: \(error)")
      throw WireError(.internalError, "it could not be stored; send it again")
    }
  }

  private func place(
    _ prompt: Prompt, _ id: String, in session: Session, as delivery: ProgramPrompt.Delivery
  ) async throws(WireError) -> PromptReceipt {
    var receipt = PromptReceipt(message: id, stage: MessageStage.received.name)
    switch await prompts.place(prompt, in: session, as: delivery == .followUp ? .followUp : .steer) {
    case .steered, .unconfirmed: receipt.steered = true
    case .queued(.queued(let count)), .queued(.undecided(let count)): receipt.behind = count
    // Left to the next daemon where this one is about to end.
    case .queued(.next), .queued(.parked), .withdrawn: break
    case .queued(.closed), .queued(.full), .notAdmitted:
      ended(MessageEnd(received: prompt.key, .refused))
      throw WireError(.invalidParams, "session: \(session.id) was closed meanwhile")
    }
    return receipt
  }

  private func check(_ request: ProgramPrompt) throws(WireError) {
    guard request.text.utf8.count <= Self.maximumTextLength else {
      throw WireError(.invalidParams, "text: longer than \(ByteCount(Self.maximumTextLength))")
    }
    guard !request.text.trimmingWhitespace().isEmpty || request.images?.isEmpty == false else {
      throw WireError(.invalidParams, "text: there is neither text nor an image")
    }
    guard let id = request.id else { return }
    guard (1...Self.maximumIDLength).contains(id.utf8.count), id.utf8.allSatisfy(Self.isOfID) else {
      throw WireError(
        .invalidParams, "id: 1 to \(Self.maximumIDLength) of letters, digits, \".\", \"_\", \":\" and \"-\"")
    }
  }

  private static func isOfID(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static func prompt(
    _ request: ProgramPrompt, _ key: MessageKey, _ attachments: [Attachment], _ folder: String
  ) -> Prompt {
    Prompt(
      key: key, text: request.text, typed: request.text.isEmpty ? "[image]" : request.text, attachments: attachments,
      spoolFolder: folder, life: MessageLifecycle(isAdmitted: true))
  }

  private static func stored(_ prompt: Prompt) -> StoredMessage {
    StoredMessage(
      key: prompt.key,
      message: MessageReceived(
        id: prompt.key.id, conversation: Conversation(id: prompt.key.conversation.conversation, kind: .dm),
        sender: Sender(id: "program", name: "a program"), text: prompt.text,
        attachments: prompt.attachments.isEmpty ? nil : prompt.attachments))
  }

  /// A message of an earlier daemon, as its session continues it.
  static func prompt(_ unfinished: UnfinishedMessage, in session: String, _ folder: String) -> Prompt {
    let message = unfinished.stored.message
    return Prompt(
      key: unfinished.stored.key, text: message.text, typed: message.text.isEmpty ? "[image]" : message.text,
      attachments: message.attachments ?? [], spoolFolder: folder, life: unfinished.life(in: session))
  }

  /// A message has ended. Nobody is told but those who watch its session.
  func ended(_ end: MessageEnd) {
    store.scheduleEnd(end, isTold: true)
    files.remove(end.key)
  }
}
