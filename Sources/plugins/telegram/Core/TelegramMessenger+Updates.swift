internal import FoundationEssentials
internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

// Everything that happens at Telegram.
extension TelegramMessenger {
  /// The kinds of updates that are wanted.
  static let updateKinds: JSONValue = [
    "message", "edited_message", "callback_query", "message_reaction", "my_chat_member", "stopped_message_generation",
  ]
  /// For which a server holds a poll open.
  private static let pollSeconds = 50
  /// Telegram takes a while to notice that an earlier poll of this bot has lost its connection.
  private static let pauseAfterConflict: Duration = .seconds(3)

  private var grace: Duration { .seconds(settings.graceSeconds ?? 60) }

  // MARK: - Polling

  /// Polls until that fails.
  func hear(_ isOfUse: @Sendable () -> Void) async throws -> ConnectionEnding {
    do {
      try await meet()
      // The first answer tells whether the bot hears, so it must not take long.
      var isHearing = false
      while true {
        let isIdle = try await lanes.settle(within: .seconds(1))
        reception.known = reception.known.filter { $0 > state.position.safe ?? .min }
        let updates = try await poll(for: isHearing && isIdle ? Self.pollSeconds : 0)
        isHearing = true
        isOfUse()
        await problems.tell(all: reception.closed.values.sorted())
        for update in updates {
          if let id = update["update_id"]?.intValue, reception.known.insert(id).inserted { await take(update, id) }
        }
      }
    } catch let error as RESTError {
      return ending(error)
    }
  }

  private func poll(for seconds: Int) async throws(RESTError) -> [JSONValue] {
    var parameters: [String: JSONValue] = [
      "timeout": .integer(Int64(seconds)), "limit": 100, "allowed_updates": Self.updateKinds,
    ]
    // Confirms what is before it, all of which the host has.
    if let offset = state.offset(now: Date().timeIntervalSince1970) { parameters["offset"] = .integer(Int64(offset)) }
    return try await api.ask(
      "getUpdates", parameters, within: .seconds(seconds + 15), isRepeatable: false, credential: .probed
    ).list
  }

  /// Without the bot's own name it could not be told when somebody means the bot.
  private func meet() async throws(RESTError) {
    guard reception.me == nil else { return }
    let user = try await api.ask("getMe", credential: .probed)
    guard let me = Me(user) else { throw .unanswered("it did not say which bot this is") }
    reception.me = me
    host.log("connected as @\(me.name)")
  }

  private func ending(_ error: RESTError) -> ConnectionEnding {
    switch error {
    case .refused(status: 401, _, _): return ConnectionEnding(error.words, isRefusal: true)
    case .refused(status: 409, _, let words):
      let why =
        words.lowercased().contains("webhook")
        ? "the bot has a webhook, so Telegram sends its messages there; remove it with: pi-relayd setup telegram, or by deleteWebhook"
        : "another program polls with this bot's token: end it, or give it a bot of its own; messages wait at Telegram meanwhile"
      return ConnectionEnding(
        "the bot does not hear: \(why)", grace: grace, minimumPause: min(Self.pauseAfterConflict, grace))
    default:
      return ConnectionEnding("Telegram cannot be reached: \(error.words)", grace: reception.me == nil ? .zero : grace)
    }
  }

  // MARK: - Updates

  /// Puts an update into its conversation's lane. A press does not wait for the files of a message.
  private func take(_ update: JSONValue, _ id: Int) async {
    state.began(id, now: Date().timeIntervalSince1970)
    if let message = update["message"] { return await take(message: message, id) }
    let (place, kind) = Self.place(of: update)
    let lane = place.map { state.places.id(of: $0) } ?? ""
    await add(kind == "callback_query" ? "press \(lane)" : lane, [id]) {
      try await self.handle(update, kind, place, id)
    }
  }

  private static func place(of update: JSONValue) -> (Place?, kind: String) {
    for kind in ["edited_message", "message_reaction", "my_chat_member", "stopped_message_generation"] {
      guard let data = update[kind] else { continue }
      var place = TelegramMessages.place(of: data)
      if kind.hasPrefix("stopped") { place?.topic = data["message_thread_id"]?.intValue }
      return (place, kind)
    }
    return (TelegramMessages.place(of: update["callback_query"]?["message"]), "callback_query")
  }

  private func add(_ lane: String, _ updates: [Int], _ work: @escaping @Sendable () async throws -> Void) async {
    await lanes.add(to: lane) { [host] in
      do {
        try await work()
      } catch ConnectionError.refused(let refusal) where refusal.code == .invalidParams {
        // It would be refused for ever.
        host.log("an update of Telegram is left out: \(refusal)")
      }
      try await self.finish(updates)
    }
  }

  private func finish(_ updates: [Int]) async throws {
    state = state.after(updates)
    if state.position.isDue { try await keep() }
  }

  private func take(message: JSONValue, _ id: Int) async {
    let place = TelegramMessages.place(of: message) ?? Place(chat: 0)
    // Before the messages that follow, which belong to the same conversation.
    if let new = message["migrate_to_chat_id"]?.intValue { state.places.moved(place.chat, to: new) }
    if let old = message["migrate_from_chat_id"]?.intValue { state.places.moved(old, to: place.chat) }
    let lane = state.places.id(of: place)
    guard let album = message["media_group_id"]?.stringValue else {
      return await add(lane, [id]) { try await self.handle([message], place, [id]) }
    }
    let name = "\(lane) \(album)"
    guard reception.albums.add(message, of: name, update: id, now: reception.now()) else { return }
    await add(lane, []) { try await self.handleAlbum(name, place) }
  }

  private func handleAlbum(_ name: String, _ place: Place) async throws {
    while case let wait = reception.albums.wait(for: name, now: reception.now()), wait > .zero {
      try await LoopClock.shared.sleep(for: wait)
    }
    let album = reception.albums.finish(name, in: place.chat)
    try await handle(album.messages, place, album.updates)
    try await finish(album.updates)
  }

  private var messages: TelegramMessages? {
    reception.me.map { TelegramMessages(me: $0, places: state.places, commands: reception.commands) }
  }

  private func handle(_ parts: [JSONValue], _ place: Place, _ updates: [Int]) async throws {
    if let first = parts.first, try await handleService(first, place) { return }
    guard let messages, let (received, files) = messages.received(parts),
      received.mention == true || state.isHome(place, settings.channels ?? [])
    else { return }
    await opened(place)
    var message = received
    message.state = state.after(updates).asJSON
    let sources = await locate(files)
    let reply = try await self.files.received(message, with: sources)
    if reply.stored, let mark = (settings.reactions ?? MessageMarks()).afterStoring {
      react(mark, to: message.id, in: message.conversation.id)
    }
  }

  /// The files' addresses, which hold the token.
  private func locate(_ files: [TelegramFile]) async -> [IncomingFile] {
    var sources: [IncomingFile] = []
    for file in files {
      var attachment = Attachment(id: file.id, name: file.name, mime: file.mime, size: file.size)
      var source = IncomingFile.Source.none
      do throws(RESTError) {
        let found = try await api.ask("getFile", ["file_id": .string(file.id)])
        attachment.size = attachment.size ?? found["file_size"]?.intValue
        // An own server may keep files on this machine, and says where.
        if let path = found["file_path"]?.stringValue {
          source = path.hasPrefix("/") ? .copy(of: path) : .address(api.address(ofFile: path))
        }
      } catch {
        host.log("a file of a message could not be looked up: \(error.words)")
      }
      sources.append(IncomingFile(attachment, from: source))
    }
    return sources
  }

  /// Handles a notice of Telegram's own, which comes as a message.
  ///
  /// - Returns: false for a message of a person.
  private func handleService(_ message: JSONValue, _ place: Place) async throws -> Bool {
    if message["migrate_to_chat_id"] != nil || message["migrate_from_chat_id"] != nil {
      try await keep()
    } else if let messages, message["forum_topic_closed"] != nil {
      try await host.closed(ConversationClosed(conversation: messages.conversation(place, message)))
    } else if let messages, message["forum_topic_reopened"] != nil {
      try await host.reopened(ConversationReopened(conversation: messages.conversation(place, message)))
    } else {
      return false
    }
    return true
  }

  private func handle(_ update: JSONValue, _ kind: String, _ place: Place?, _ id: Int) async throws {
    guard let messages, let place else { return }
    let data = update[kind]
    switch kind {
    case "edited_message": try await edited(data, place, messages)
    case "callback_query": try await pressed(data, place, messages)
    case "my_chat_member":
      let status = data?["new_chat_member"]?["status"]?.stringValue ?? ""
      let conversation = messages.conversation(place, data)
      if ["kicked", "left"].contains(status) {
        await closed(place)
        try await host.closed(ConversationClosed(conversation: conversation))
      } else {
        if !place.isPrivate { host.log("the bot is in the group \(place.chat), \(conversation.title ?? "")") }
        await opened(place)
        try await host.reopened(ConversationReopened(conversation: conversation))
      }
    case "message_reaction":
      guard let sender = TelegramMessages.sender(data?["user"]), let message = data?["message_id"]?.intValue else {
        return
      }
      for reaction in data?["new_reaction"]?.list.compactMap({ $0["emoji"]?.stringValue }) ?? [] {
        try await host.reacted(
          ReactionAdded(
            conversation: messages.conversation(place, data), sender: sender,
            message: state.places.id(ofMessage: message, in: place.chat), reaction: reaction))
      }
    default:
      // A private chat has its person's id.
      let name = TelegramMessages.name(of: data?["chat"])
      try await host.invoked(
        CommandInvoked(
          id: "stop-\(id)", conversation: messages.conversation(place), sender: Sender(id: "\(place.chat)", name: name),
          name: "stop"))
    }
  }

  /// A chat takes nothing from the bot any more.
  func closed(_ place: Place) async {
    reception.closed[place.chat] =
      place.isPrivate
      ? "the person with the id \(place.chat) has blocked the bot, and can unblock it in the chat's menu at Telegram"
      : "the bot was removed from the group \(place.chat), or may not write there"
    await problems.tell(all: reception.closed.values.sorted())
  }

  private func opened(_ place: Place) async {
    guard reception.closed.removeValue(forKey: place.chat) != nil else { return }
    await problems.tell(all: reception.closed.values.sorted())
  }

  private func edited(_ message: JSONValue?, _ place: Place, _ messages: TelegramMessages) async throws {
    guard let message, let id = message["message_id"]?.intValue else { return }
    let known = state.places.id(ofMessage: reception.albums.first(id, in: place.chat), in: place.chat)
    if let edit = messages.edited(message, as: known) { try await host.edited(edit) }
  }

  private func pressed(_ press: JSONValue?, _ place: Place, _ messages: TelegramMessages) async throws {
    guard let press, let id = press["id"]?.stringValue, let action = press["data"]?.stringValue,
      let sender = TelegramMessages.sender(press["from"])
    else { return }
    let message = press["message"]?["message_id"]?.intValue
    let reply = try await host.invoked(
      ActionInvoked(
        id: id, conversation: messages.conversation(place, press["message"]), sender: sender, action: action,
        message: message.map { state.places.id(ofMessage: $0, in: place.chat) }))
    var answer: [String: JSONValue] = ["callback_query_id": .string(id)]
    if reply.refused == true { answer["text"] = "Not authorized." }
    do throws(RESTError) {
      try await api.ask("answerCallbackQuery", answer)
    } catch {
      // The person's client stops waiting by itself.
      host.log("the press of a button could not be answered: \(error.words)")
    }
  }

  // MARK: - Reactions

  func react(_ reaction: String, to message: String, in conversation: String) {
    guard let place = state.places.place(conversation), let id = state.places.message(message, in: place.chat) else {
      return
    }
    taskScope.add { [api, host] in
      do throws(RESTError) {
        try await api.ask(
          "setMessageReaction",
          [
            "chat_id": .integer(Int64(place.chat)), "message_id": .integer(Int64(id)),
            "reaction": [["type": "emoji", "emoji": .string(reaction)]],
          ])
      } catch {
        // Decoration: neither tried for long nor worth more than a line.
        host.log("a reaction could not be added: \(error.words)")
      }
    }
  }
}
