internal import DiscordAPI
internal import MessengerKit
package import PluginSDK
internal import RelayConcurrency
internal import RelayHTTP
internal import RelayJSON
internal import RelayWire

// The host's requests.
extension DiscordMessenger {
  private func content(_ text: String, _ components: JSONValue = []) -> [String: JSONValue] {
    // An agent's words ping nobody.
    ["content": .string(text), "allowed_mentions": ["parse": []], "components": components]
  }

  package func send(_ request: MessageSend) async throws -> Receipt {
    let body = content(request.text, Components.rows(request.buttons))
    if let interaction = request.replyTo {
      if let message = try await reply(body, to: interaction) { return Receipt(message: message) }
      // An answer for one person alone must not be shown to all.
      if await channels.isShared(request.conversation) {
        let late = "The answer to a command came too late to be shown to you alone; use the command again."
        return try await create(content(late), key: request.key, in: request.conversation)
      }
    }
    return try await create(body, key: request.key, in: request.conversation)
  }

  /// Answers an interaction; `nil` when it can no longer be answered, and the answer is sent as a message.
  private func reply(_ body: [String: JSONValue], to interaction: String) async throws -> String? {
    do {
      return try await interactions.replies.say(body, to: interaction)
    } catch .refused(let status, _, _) where (400..<500).contains(status) {
      return nil
    } catch {
      throw error.asDeliveryFailure
    }
  }

  private func create(
    _ body: [String: JSONValue], key: String, file: HTTPRequest.Part? = nil, in channel: String
  ) async throws -> Receipt {
    var body = body
    body["nonce"] = .string(token.nonce(of: key))
    // The same nonce again within a few minutes answers with the message that there is.
    body["enforce_nonce"] = true
    let answer = try await ask(.createMessage(in: channel), .object(body), file: file)
    guard let id = answer["id"]?.stringValue else { throw DeliveryFailure.unknownOutcome("Discord named no message") }
    await typing.interrupted(in: channel)
    return Receipt(message: id)
  }

  package func edit(_ request: MessageEdit) async throws -> EditReceipt {
    let body = content(request.text, Components.rows(request.buttons))
    guard request.streaming != true else {
      let isShown = try await grow(request.message, .object(body), in: request.conversation)
      return EditReceipt(message: request.message, putOff: isShown ? nil : true)
    }
    await streaming.settle(request.message)
    try await change(request.message, body, in: request.conversation)
    return EditReceipt(message: request.message)
  }

  private func grow(_ message: String, _ body: JSONValue, in channel: String) async throws -> Bool {
    do {
      if try await interactions.replies.change(message, body) { return true }
      return try await streaming.show(body, of: message, in: channel)
    } catch {
      throw error.asDeliveryFailure
    }
  }

  private func change(_ message: String, _ body: [String: JSONValue], in channel: String) async throws {
    do {
      if try await interactions.replies.change(message, .object(body)) { return }
      try await rest.ask(.editMessage(message, in: channel), .object(body))
    } catch {
      throw error.asDeliveryFailure
    }
  }

  package func delete(_ request: MessageDelete) async throws {
    await streaming.settle(request.message)
    do {
      _ = try await ask(.deleteMessage(request.message, in: request.conversation), nil)
    } catch DeliveryFailure.notFound {
      // It is gone already.
    }
  }

  package func settled(_ request: MessageSettled) async throws {
    if request.isOfInteraction {
      do { return try await interactions.replies.close(request.message) } catch { throw error.asDeliveryFailure }
    }
    guard let mark = settings.reactions?.after(request) else { return }
    react(mark, to: request.message, in: request.conversation)
  }

  package func sendFile(_ request: FileSend) async throws -> Receipt {
    let outgoing = OutgoingFile(request)
    if outgoing.size > UploadLimits.minimum {
      let limit: Int
      do { limit = try await uploads.limit(in: request.conversation) } catch { throw error.asDeliveryFailure }
      try outgoing.check(limit: limit, at: "Discord")
    }
    var body = content(request.caption ?? "")
    body["attachments"] = [["id": 0, "filename": .string(outgoing.name)]]
    let file = HTTPRequest.Part(
      name: "files[0]", fileName: outgoing.name, type: outgoing.mime, content: .file(path: outgoing.path))
    return try await create(body, key: request.key, file: file, in: request.conversation)
  }

  package func showDialog(_ request: DialogShow) async throws -> Receipt {
    interactions.forms.remember(request)
    return try await create(
      content(request.text, Components.rows(of: request)), key: request.key, in: request.conversation)
  }

  package func closeDialog(_ request: DialogClose) async throws {
    do {
      try await change(request.message, content(request.text), in: request.conversation)
    } catch DeliveryFailure.notFound {
      // Somebody has deleted it.
    }
  }

  package func createThread(_ request: ThreadCreate) async throws -> ThreadCreate.Reply {
    guard channels.configured(request.conversation) != nil else {
      throw DeliveryFailure.invalid("threads can be opened only in a channel that is configured")
    }
    let title = String(request.title.prefix(100))
    let thread = try await ask(
      .createThread(in: request.conversation),
      // A public thread, which Discord puts away after a day without a word.
      ["name": .string(title.isEmpty ? "session" : title), "type": 11, "auto_archive_duration": 1_440],
      isRepeatable: false)
    guard let conversation = channels.learn(thread) else {
      throw DeliveryFailure.invalid("threads can be opened only in a channel that is configured")
    }
    return ThreadCreate.Reply(conversation: conversation)
  }

  package func openConversation(_ request: ConversationOpen) async throws -> ConversationOpen.Reply {
    do {
      let channel = try await channels.directMessages(with: request.user)
      return ConversationOpen.Reply(conversation: Conversation(id: channel, kind: .dm))
    } catch {
      throw error.asDeliveryFailure
    }
  }

  package func setTyping(_ request: TypingSet) async {
    await typing.set(request.active, in: request.conversation)
  }

  package func commandsChanged(_ request: CommandsChanged) async {
    taskScope.add { [menu] in await menu.set(request.commands) }
  }

  private func ask(
    _ route: Route, _ body: JSONValue?, file: HTTPRequest.Part? = nil, isRepeatable: Bool = true
  ) async throws -> JSONValue {
    do {
      return try await rest.ask(route, body, file: file, isRepeatable: isRepeatable)
    } catch {
      throw error.asDeliveryFailure
    }
  }
}
