internal import MessengerHTTP
internal import MessengerKit
package import PluginSDK
internal import RelayHTTP

// The host's requests.
extension SlackMessenger {
  package func send(_ request: MessageSend) async throws -> Receipt {
    let place = SlackPlace(request.conversation)
    let content = SlackPosts.Content(text: request.text, rows: SlackBlocks.rows(request.buttons))
    if let interaction = request.replyTo {
      if let message = try await reply(request, to: interaction) { return Receipt(message: message) }
      // An answer for one person alone must not be shown to all.
      if !place.isDirect {
        let late = "The answer to a command came too late to be shown to you alone; use the command again."
        return try await post(SlackPosts.Content(text: late), key: request.key, in: place)
      }
    }
    if request.streaming == true, content.rows.isEmpty, await streams.isPossible(in: place) {
      // Slack gives a streamed message no key before its end.
      progress.state.begin(request.key, .init(place: place.id, after: progress.last(in: place) ?? place.thread))
      try await keep()
      let begun: String?
      do throws(RESTError) { begun = try await streams.start(request.text, key: request.key, in: place) } catch {
        throw error.deliveryFailure(in: place)
      }
      if let begun {
        progress.note(begun, in: place)
        return Receipt(message: begun)
      }
    }
    return try await post(content, key: request.key, in: place)
  }

  /// Answers an interaction; `nil` when it can no longer be answered, and the answer is sent as a message.
  private func reply(_ request: MessageSend, to interaction: String) async throws -> String? {
    let id = SlackReplies.prefix + request.key
    let content = SlackPosts.Content(text: request.text, rows: SlackBlocks.rows(request.buttons, message: id))
    return try await asked { () async throws(RESTError) in
      try await replies.say(SlackPosts.marked(content), to: interaction, as: request.key)
    }
  }

  private func post(_ content: SlackPosts.Content, key: String, in place: SlackPlace) async throws -> Receipt {
    let ts = try await asked(in: place) { () async throws(RESTError) in
      try await posts.post(content, key: key, in: place)
    }
    progress.note(ts, in: place)
    await typing.interrupted(in: place.id)
    return Receipt(message: ts)
  }

  package func edit(_ request: MessageEdit) async throws -> EditReceipt {
    let place = SlackPlace(request.conversation)
    let message = request.message
    if message.hasPrefix(SlackReplies.prefix) {
      let content = SlackPosts.Content(text: request.text, rows: SlackBlocks.rows(request.buttons, message: message))
      let isChanged = try await asked { () async throws(RESTError) in
        try await replies.change(message, SlackPosts.marked(content))
      }
      guard isChanged else { throw DeliveryFailure.notFound("the message can no longer be changed") }
      return EditReceipt(message: message)
    }
    let content = SlackPosts.Content(text: request.text, rows: SlackBlocks.rows(request.buttons))
    if request.streaming == true {
      let isShown = try await asked(in: place) { () async throws(RESTError) in
        try await streaming.show(content, of: message, in: place.id)
      }
      return EditReceipt(message: message, putOff: isShown ? nil : true)
    }
    await streaming.settle(message)
    try await asked(in: place) { () async throws(RESTError) in
      if try await streams.finish(content, of: message, in: place) { return }
      try await posts.change(message, content, in: place)
    }
    return EditReceipt(message: message)
  }

  package func delete(_ request: MessageDelete) async throws {
    let (place, message) = (SlackPlace(request.conversation), request.message)
    // Slack takes it away by itself.
    if message.hasPrefix(SlackReplies.prefix) { return }
    await streaming.settle(message)
    await streams.forget(message, in: place)
    do {
      if message.hasPrefix(Self.filePrefix) {
        try await client.ask("files.delete", ["file": .string(String(message.dropFirst(Self.filePrefix.count)))])
      } else {
        try await client.ask("chat.delete", ["channel": .string(place.channel), "ts": .string(message)])
      }
    } catch .refused(status: 404, let code, _) where code != "channel_not_found" {
      // It is gone already.
    } catch {
      throw error.deliveryFailure(in: place)
    }
  }

  package func lookup(_ request: MessageLookup) async throws -> MessageLookup.Reply {
    let place = SlackPlace(request.conversation)
    let begun = progress.state.begun(request.key)
    if let file = begun?.file {
      let isThere = try await asked(in: place) { () async throws(RESTError) in try await isShared(file, in: place) }
      return .init(message: isThere ? Self.filePrefix + file : nil)
    }
    let me = me
    let found = try await asked(in: place) { () async throws(RESTError) in
      try await SlackHistory(client: client).find(request.key, in: place, after: begun?.after) { message in
        begun != nil && message["user"]?.stringValue == me?.user && message["metadata"]?["event_type"] == nil
          && message["files"] == nil
      }
    }
    return .init(message: found)
  }

  package func settled(_ request: MessageSettled) async throws {
    if request.isOfInteraction {
      return try await asked { () async throws(RESTError) in try await replies.close(request.message) }
    }
    files.settled(request)
    guard let mark = settings.reactions?.after(request) else { return }
    react(mark, to: request.message, in: SlackPlace(request.conversation))
  }

  package func showDialog(_ request: DialogShow) async throws -> Receipt {
    forms.remember(request)
    return try await post(
      SlackPosts.Content(text: request.text, rows: SlackBlocks.rows(of: request)), key: request.key,
      in: SlackPlace(request.conversation))
  }

  package func closeDialog(_ request: DialogClose) async throws {
    let place = SlackPlace(request.conversation)
    do {
      try await posts.change(request.message, SlackPosts.Content(text: request.text), in: place)
    } catch .refused(status: 404, _, _) {
      // Somebody has deleted it.
    } catch {
      throw error.deliveryFailure(in: place)
    }
  }

  package func createThread(_ request: ThreadCreate) async throws -> ThreadCreate.Reply {
    let channel = SlackPlace(channel: SlackPlace(request.conversation).channel)
    let title = request.title.isEmpty ? "session" : request.title
    let ts: String
    do throws(RESTError) {
      ts = try await posts.post(SlackPosts.Content(text: "**\(title)**"), key: request.key, in: channel)
    } catch {
      guard case .unanswered = error else { throw error.deliveryFailure(in: channel) }
      let found = try await asked(in: channel) { () async throws(RESTError) in
        try await SlackHistory(client: client).find(request.key, in: channel, after: progress.last(in: channel)) { _ in
          false
        }
      }
      guard let found else { throw error.deliveryFailure(in: channel) }
      ts = found
    }
    let place = SlackPlace(channel: channel.channel, thread: ts)
    // Messages there are for the bot from now on.
    progress.state.seen.saw(ts, in: place.id, keeping: settings.channels ?? [])
    try await keep()
    var conversation = place.conversation
    conversation.title = title
    return ThreadCreate.Reply(conversation: conversation)
  }

  package func openConversation(_ request: ConversationOpen) async throws -> ConversationOpen.Reply {
    let channel = try await asked { () async throws(RESTError) in try await people.directMessages(with: request.user) }
    return ConversationOpen.Reply(conversation: Conversation(id: channel, kind: .dm))
  }

  // MARK: - Files

  /// The beginning of the ids of messages that are files.
  static let filePrefix = "file:"

  package func sendFile(_ request: FileSend) async throws -> Receipt {
    let outgoing = OutgoingFile(request)
    try outgoing.check(limit: 100 << 20, at: "Slack")
    let place = SlackPlace(request.conversation)
    let file = try await asked(in: place) { () async throws(RESTError) in try await upload(outgoing) }
    // Slack gives the message of a file no key of ours.
    progress.state.begin(request.key, .init(place: place.id, file: file))
    try await keep()
    var arguments: [String: JSONValue] = [
      "channel_id": .string(place.channel), "files": [["id": .string(file), "title": .string(outgoing.name)]],
    ]
    if let thread = place.thread { arguments["thread_ts"] = .string(thread) }
    if let caption = request.caption, !caption.isEmpty {
      arguments["initial_comment"] = .string(SlackMarkdown.mrkdwn(caption))
    }
    let call = arguments
    try await asked(in: place) { () async throws(RESTError) in
      _ = try await client.ask("files.completeUploadExternal", call)
    }
    return Receipt(message: Self.filePrefix + file)
  }

  /// - Returns: the file's id. Nobody sees the file yet.
  private func upload(_ outgoing: OutgoingFile) async throws(RESTError) -> String {
    let answer = try await client.ask(
      "files.getUploadURLExternal",
      ["filename": .string(outgoing.name), "length": .integer(Int64(outgoing.size))])
    guard let url = answer["upload_url"]?.stringValue, let file = answer["file_id"]?.stringValue else {
      throw .refused(status: 400, code: nil, "it named no address for the file")
    }
    let part = HTTPRequest.Part(
      name: "file", fileName: outgoing.name, type: outgoing.mime, content: .file(path: outgoing.path))
    do {
      try await client.post(.multipart([part]), to: url, isUpload: true)
    } catch .unanswered(let why) {
      // Nobody sees an upload that is not completed.
      throw .unreachable(why)
    } catch {
      throw error
    }
    return file
  }

  private func isShared(_ file: String, in place: SlackPlace) async throws(RESTError) -> Bool {
    do {
      let found = try await client.ask("files.info", ["file": .string(file)])["file"]
      let places = ["channels", "groups", "ims"].flatMap { found?[$0]?.list ?? [] }
      return places.contains(.string(place.channel))
    } catch .refused(_, "file_not_found", _) {
      return false
    } catch {
      throw error
    }
  }

  private func asked<Value: Sendable>(
    in place: SlackPlace? = nil, _ body: () async throws(RESTError) -> Value
  ) async throws(DeliveryFailure) -> Value {
    do { return try await body() } catch { throw error.deliveryFailure(in: place) }
  }
}
