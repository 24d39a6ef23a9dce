internal import Assistant
internal import ConversationSessions
internal import Logging
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayWire

/// The assistant's view of message routing.
struct RoutingForAssistant: AssistantHost {
  let store: SQLiteStore
  let directory: ConversationDirectory
  let bindings: SessionBindings
  let gate: InboundGate
  let recovery: RecoveryCoordinator
  let owner: String?
  let logger: Logger

  var isDraining: Bool { gate.isDraining }

  func recoveredConversations(of session: String) async throws -> [ConversationKey]? {
    let conversations = try await store.conversations(of: session)
    return await recovery.isFinished(conversations.map(\.instance)) ? conversations : nil
  }

  func sessionClosed(_ session: String, in conversations: [ConversationKey]) async {
    await bindings.unbind(conversations, from: session)
  }

  /// Hands a finding to the owner's own session, whose answer the owner sees.
  func deliver(finding text: String, number: Int) async {
    guard let owner else {
      return logger.warning(
        "heartbeat: there is something to tell, but assistant.owner names nobody: \(TextSanitizer.line(text))")
    }
    let sender = Sender(id: owner, name: "heartbeat")
    let link = directory.links.first { link in
      link.capabilities.directMessages == true && Authorisation.allows(sender, through: link)
        && link.settings(of: Conversation(id: "", kind: .dm)).use == .assistant
    }
    guard let link else {
      return logger.warning(
        """
        heartbeat: there is something to tell, but no messenger is connected whose direct messages are the assistant's \
        and which admits the owner \(TextSanitizer.line(owner)): \(TextSanitizer.line(text))
        """)
    }
    do {
      let conversation = try await link.request(ConversationOpen(user: owner)).conversation
      let key = link.key(conversation)
      let message = MessageReceived(
        id: MessageOrigin.heartbeat("\(number)").id, conversation: conversation, sender: sender,
        text: PeriodicCheck.message(text))
      let stored = StoredMessage(key: MessageKey(conversation: key, id: message.id), message: message)
      let inbox = directory.context(key, conversation, link).inbox
      if try await store.accept(stored, state: nil) { inbox.post(.finding(message, link)) }
    } catch {
      logger.error("heartbeat: a finding could not be handed to the owner: \(error)")
    }
  }
}
