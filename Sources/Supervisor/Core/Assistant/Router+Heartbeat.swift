internal import AgentSessions
internal import FoundationEssentials
internal import PiRPC
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

// From time to time the assistant looks by itself whether there is something to tell its owner. What it finds becomes a
// message in the owner's conversation, stored and answered as any other.
extension Router {
  /// What the agent is asked, in a session that knows of nothing else.
  static let heartbeatPrompt = """
    This is a periodic check; nobody has written. If there is a file HEARTBEAT.md in the working directory, read it and do \
    what it says. If nothing needs your owner's attention, answer \(heartbeatAllWell) and nothing else; otherwise say \
    briefly what does.
    """
  static let heartbeatAllWell = "HEARTBEAT_OK"
  /// Of the ids of messages that bring findings.
  static let heartbeatPrefix = "heartbeat:"
  private static let findingPrompt =
    "Your periodic check found the following. Tell me in your own words:\n\n"
  private static let heartbeatKey = ConversationKey(instance: "main", conversation: "heartbeat")

  func heartbeat() async {
    guard !isDraining else { return }
    let events = Mailbox<SessionEvent>()
    let session = await host.heartbeatSession { [assistantQueue] _, event in
      assistantQueue.note(event)
      events.post(event)
    }
    let number = Int(timekeeper.wallTime())
    let prompt = Prompt(
      key: MessageKey(conversation: Self.heartbeatKey, id: "\(number)"), text: Self.heartbeatPrompt,
      typed: Self.heartbeatPrompt)
    if await session.enqueue(prompt) == .next {
      switch await Self.answer(from: events, of: session) {
      case .success(let text) where Self.isAllWell(text):
        log("heartbeat: nothing that the owner must know")
      case .success(let text): await tellOwner(text, number)
      case .failure(let problem): log("heartbeat: \(problem)")
      }
    }
    await host.closeUnstored(session)
    await tellAssistantHealth()
  }

  static func isAllWell(_ text: String) -> Bool {
    let words = text.filter { $0.isLetter || $0 == "_" }
    return words.isEmpty || words == heartbeatAllWell
  }

  private struct HeartbeatProblem: Error, CustomStringConvertible { let description: String }

  /// The agent's last words.
  private static func answer(
    from events: Mailbox<SessionEvent>, of session: Session
  ) async -> Result<String, HeartbeatProblem> {
    var text = ""
    while let event = await events.next() {
      switch event {
      case .messageEnded(let message) where message.role == "assistant": text = message.text
      // Nobody is there to be asked.
      case .dialogOpened(let question, _): _ = await session.answer(question.dialog.id, .cancelled)
      case .runEnded(_, .completed, _): return .success(text)
      case .runEnded(_, .failed(let why), _), .runEnded(_, .forgotten(let why, _), _):
        return .failure(HeartbeatProblem(description: why))
      case .runEnded: return .failure(HeartbeatProblem(description: "it was stopped"))
      default: break
      }
    }
    return .failure(HeartbeatProblem(description: "pi-relayd is stopping"))
  }

  /// A finding is for the owner's own session, and answers no question. Where the owner has turned to another session, the
  /// finding itself is shown.
  func process(finding message: MessageReceived, _ link: PluginLink, _ key: ConversationKey) async {
    if let session = await boundSession(key), session.role != .owner {
      let words = message.text.hasPrefix(Self.findingPrompt) ? message.text.dropFirst(Self.findingPrompt.count) : ""
      return settle(message, key, saying: "💓 \(words)")
    }
    // Nobody has asked: the finding is labelled, before its answer and while it waits.
    guard await prompt(message, link, as: .followUp) != nil else { return }
    await say("💓 The assistant's periodic check found something. It is told when the agent is done.", to: key)
  }

  /// Hands what was found to the owner's own session, whose answer the owner sees.
  private func tellOwner(_ text: String, _ number: Int) async {
    guard let owner = assistant.settings.owner else {
      return log("heartbeat: there is something to tell, but assistant.owner names nobody: \(SafeText.line(text))")
    }
    let sender = Sender(id: owner, name: "heartbeat")
    let links = holders.values.compactMap(\.current).filter { link in
      link.capabilities.directMessages == true && Authorisation.allows(sender, through: link)
        && settings(link, Conversation(id: "", kind: .dm)).use == .assistant
    }
    guard let link = links.first else {
      return log(
        "heartbeat: there is something to tell, but no messenger is connected whose direct messages are the assistant's "
          + "and which admits the owner \(SafeText.line(owner)): \(SafeText.line(text))")
    }
    do {
      let conversation = try await link.request(ConversationOpen(user: owner)).conversation
      let key = key(link, conversation)
      let message = MessageReceived(
        id: Self.heartbeatPrefix + "\(number)", conversation: conversation, sender: sender,
        text: Self.findingPrompt + text)
      let stored = StoredMessage(key: MessageKey(conversation: key, id: message.id), message: message)
      let inbox = place(key, conversation, link).inbox
      if try await store.accept(stored, state: nil) { inbox.post(.finding(message, link)) }
    } catch {
      log("heartbeat: what was found could not be handed to the owner: \(error)")
    }
  }
}
