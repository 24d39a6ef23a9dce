internal import MessengerHTTP
internal import MessengerKit
package import PluginSDK
internal import RelayConcurrency
internal import RelayHTTP

// The host's requests.
extension TelegramMessenger {
  static let maximumFileBytes = 50 << 20
  private static let maximumPhotoBytes = 10 << 20
  private static let maximumCaption = 1_024
  private static let maximumTitle = 128
  /// For a change of a growing message that was put off.
  private static let editPatience: Duration = .seconds(5)
  /// As the host marks what it sends again.
  private static let repeatMark = "(possible repeat) "

  func lane(of conversation: String) -> RateLimits.Lane { BotAPI.lane("", state.places.place(conversation)?.chat ?? 0) }

  private func place(_ conversation: String) throws(DeliveryFailure) -> Place {
    guard let place = state.places.place(conversation) else {
      throw .notFound("\(conversation) is no chat of Telegram")
    }
    return place
  }

  private func message(_ id: String, in place: Place) throws(DeliveryFailure) -> Int {
    guard let message = state.places.message(id, in: place.chat) else {
      throw .notFound("Telegram: the message was one of the group before it became a supergroup")
    }
    return message
  }

  /// Carries out a request in a conversation; once more in the supergroup that its group has become, and without the topic that is
  /// gone never.
  private func inPlace<Value>(
    _ conversation: String, _ body: (Place) async throws(RESTError) -> Value
  ) async throws -> Value {
    let place = try place(conversation)
    do {
      return try await body(place)
    } catch {
      if error.isForbidden { await closed(place) }
      guard let new = error.newChat, state.places.moved(place.chat, to: new) else { throw error.asDeliveryFailure }
      try await keep()
    }
    do { return try await body(try self.place(conversation)) } catch let error as RESTError {
      throw error.asDeliveryFailure
    }
  }

  // MARK: - Messages

  package func send(_ request: MessageSend) async throws -> Receipt {
    if let receipt = sends.receipt(of: request.key) { return receipt }
    if request.streaming == true, request.role == .answer, request.buttons == nil, try await draft(request) {
      return Receipt(message: OpenDrafts.id(of: request.key))
    }
    return try await post(request.text, Keyboards.rows(request.buttons), as: request.key, in: request.conversation)
  }

  /// Shows the beginning of a growing answer as a draft, where that is possible.
  private func draft(_ request: MessageSend) async throws -> Bool {
    let id = OpenDrafts.id(of: request.key)
    guard try place(request.conversation).isPrivate, text.hasDrafts, let number = OpenDrafts.number(of: id) else {
      return false
    }
    let isShown = try await inPlace(request.conversation) { place throws(RESTError) in
      try await text.draft(number, request.text, to: place)
    }
    if isShown { await drafts.shown(.init(id: id, conversation: request.conversation, text: request.text)) }
    return isShown
  }

  private func post(
    _ words: String, _ markup: JSONValue?, as key: String, in conversation: String
  ) async throws -> Receipt {
    let receipt = Receipt(message: try await create(words, markup, in: conversation))
    await typing.interrupted(in: conversation)
    sends.finish(key, receipt)
    return receipt
  }

  /// - Returns: the host's id of the new message.
  private func create(_ words: String, _ markup: JSONValue?, in conversation: String) async throws -> String {
    let (answer, chat) = try await inPlace(conversation) { place throws(RESTError) in
      (try await text.send(words, to: place, markup: markup), place.chat)
    }
    guard let id = answer["message_id"]?.intValue else {
      throw DeliveryFailure.unknownOutcome("Telegram named no message")
    }
    return state.places.id(ofMessage: id, in: chat)
  }

  package func edit(_ request: MessageEdit) async throws -> EditReceipt {
    if request.streaming == true {
      let isShown: Bool
      do {
        isShown = try await streaming.show(request.text, of: request.message, in: request.conversation)
      } catch {
        throw error.asDeliveryFailure
      }
      return EditReceipt(message: request.message, putOff: isShown ? nil : true)
    }
    await streaming.settle(request.message)
    let markup = Keyboards.rows(request.buttons)
    if OpenDrafts.number(of: request.message) != nil {
      try await complete(request.message, request.text, markup, in: request.conversation)
    } else {
      try await change(request.message, to: request.text, markup, in: request.conversation)
    }
    return EditReceipt(message: request.message)
  }

  private func change(_ id: String, to words: String, _ markup: JSONValue?, in conversation: String) async throws {
    let message = try message(id, in: try place(conversation))
    try await inPlace(conversation) { place throws(RESTError) in
      try await text.change(message, to: words, in: place, markup: markup ?? Keyboards.none)
    }
  }

  /// Shows the next state of a growing message.
  func grow(_ id: String, to words: String, in conversation: String, isLate: Bool) async throws(RESTError) {
    guard let place = state.places.place(conversation) else { return }
    if let number = OpenDrafts.number(of: id) {
      guard state.draft(id) == .open else { return }
      // Where drafts have come to an end, the whole answer comes as a message.
      if try await text.draft(number, words, to: place, isCounted: true) {
        await drafts.shown(.init(id: id, conversation: conversation, text: words))
      }
    } else if let message = state.places.message(id, in: place.chat) {
      try await text.change(
        message, to: words, in: place, within: isLate ? Self.editPatience : nil, isCounted: true)
    }
  }

  func refresh(_ draft: OpenDrafts.Draft) async {
    do throws(RESTError) {
      _ = try await streaming.show(draft.text, of: draft.id, in: draft.conversation)
    } catch {
      host.log("a draft could not be shown again: \(error.words)")
    }
  }

  /// Makes a message of a growing answer that was shown as a draft.
  private func complete(_ id: String, _ words: String, _ markup: JSONValue?, in conversation: String) async throws {
    await drafts.close(id)
    var words = words
    switch state.draft(id) {
    case .sent(let message):
      let known = state.places.id(ofMessage: message, in: try place(conversation).chat)
      return try await change(known, to: words, markup, in: conversation)
    // Nothing tells whether an earlier try has arrived.
    case .uncertain: words = Self.repeatMark + words
    case .open: break
    }
    state.set(.uncertain, of: id)
    try await keep()
    do {
      let message = try await create(words, markup, in: conversation)
      if let number = state.places.message(message, in: try place(conversation).chat) {
        state.set(.sent(number), of: id)
      }
    } catch let failure as DeliveryFailure {
      if case .unknownOutcome = failure {} else { state.set(.open, of: id) }
      try await keep()
      throw failure
    }
    try await keep()
  }

  package func delete(_ request: MessageDelete) async throws {
    await streaming.settle(request.message)
    await drafts.close(request.message)
    let place = try place(request.conversation)
    let message: Int
    if OpenDrafts.number(of: request.message) != nil {
      // A draft goes by itself.
      guard case .sent(let number) = state.draft(request.message) else { return }
      message = number
    } else {
      message = try self.message(request.message, in: place)
    }
    do {
      try await inPlace(request.conversation) { place throws(RESTError) in
        _ = try await api.ask(
          "deleteMessage", ["chat_id": .integer(Int64(place.chat)), "message_id": .integer(Int64(message))])
      }
    } catch DeliveryFailure.notFound {
      // It is gone already.
    }
  }

  package func settled(_ request: MessageSettled) async {
    guard !request.isOfInteraction else { return }
    files.settled(request)
    if let mark = settings.reactions?.after(request) { react(mark, to: request.message, in: request.conversation) }
  }

  // MARK: - Files

  package func sendFile(_ request: FileSend) async throws -> Receipt {
    if let receipt = sends.receipt(of: request.key) { return receipt }
    let file = OutgoingFile(request)
    try file.check(limit: Self.maximumFileBytes, at: "Telegram")
    let caption = request.caption ?? ""
    let isShort = caption.utf16.count <= Self.maximumCaption
    let isPhoto =
      ["image/jpeg", "image/png", "image/webp"].contains(file.mime ?? "") && file.size <= Self.maximumPhotoBytes
    let (answer, chat) = try await inPlace(request.conversation) { place throws(RESTError) in
      var parameters = place.parameters
      if isShort, !caption.isEmpty { parameters["caption"] = .string(caption) }
      do throws(RESTError) {
        if isPhoto { return (try await upload(file, as: "photo", parameters, in: place), place.chat) }
      } catch  where error.isAboutForm {
        // A picture that is too long or too large in pixels: a document keeps it whole.
      }
      return (try await upload(file, as: "document", parameters, in: place), place.chat)
    }
    guard let id = answer["message_id"]?.intValue else {
      throw DeliveryFailure.unknownOutcome("Telegram named no message")
    }
    let receipt = Receipt(message: state.places.id(ofMessage: id, in: chat))
    sends.finish(request.key, receipt)
    if !isShort { _ = try await create(caption, nil, in: request.conversation) }
    return receipt
  }

  private func upload(
    _ file: OutgoingFile, as kind: String, _ parameters: [String: JSONValue], in place: Place
  ) async throws(RESTError) -> JSONValue {
    try await api.ask(
      kind == "photo" ? "sendPhoto" : "sendDocument", parameters, in: place.chat,
      file: HTTPRequest.Part(name: kind, fileName: file.name, type: file.mime, content: .file(path: file.path)),
      isRepeatable: false)
  }

  // MARK: - Questions

  package func showDialog(_ request: DialogShow) async throws -> Receipt {
    if let receipt = sends.receipt(of: request.key) { return receipt }
    return try await post(request.text, Keyboards.answers(to: request), as: request.key, in: request.conversation)
  }

  package func closeDialog(_ request: DialogClose) async throws {
    do {
      try await change(request.message, to: request.text, nil, in: request.conversation)
    } catch DeliveryFailure.notFound {
      // A message that asked for a reply can never be changed: the outcome is said below it.
      _ = try await create(request.text, nil, in: request.conversation)
    }
  }

  // MARK: - The rest

  package func setTyping(_ request: TypingSet) async { await typing.set(request.active, in: request.conversation) }

  func showTyping(in conversation: String) async {
    guard let place = state.places.place(conversation) else { return }
    // The next request follows in a few seconds.
    _ = try? await api.ask("sendChatAction", place.parameters.merging(["action": "typing"]) { $1 }, in: place.chat)
  }

  package func createThread(_ request: ThreadCreate) async throws -> ThreadCreate.Reply {
    let title = request.title.cut(Self.maximumTitle)
    let (answer, chat) = try await inPlace(request.conversation) { place throws(RESTError) in
      (
        try await api.ask(
          "createForumTopic",
          ["chat_id": .integer(Int64(place.chat)), "name": .string(title.isEmpty ? "session" : title)],
          isRepeatable: false), place.chat
      )
    }
    guard let topic = answer["message_thread_id"]?.intValue else {
      throw DeliveryFailure.invalid("Telegram made no topic")
    }
    let id = state.places.id(of: Place(chat: chat, topic: topic))
    state.opened(id)
    try await keep()
    return ThreadCreate.Reply(
      conversation: Conversation(
        id: id, kind: .thread, parent: state.places.id(of: Place(chat: chat)), title: title))
  }

  /// A person's chat with the bot has their id; the person has to begin it.
  package func openConversation(_ request: ConversationOpen) async throws -> ConversationOpen.Reply {
    guard let user = Int(request.user), user > 0 else {
      throw DeliveryFailure.notFound("\(request.user) is no person's id at Telegram")
    }
    return .init(conversation: Conversation(id: "\(user)", kind: .dm))
  }

  package func commandsChanged(_ request: CommandsChanged) async {
    let menu = CommandMenu(request.commands)
    reception.commands = menu.names
    taskScope.add { [api, host] in
      // Cancelled: the plugin is ending.
      _ = try? await CommandMenu.tries.run { () -> Void? in
        do throws(RESTError) {
          try await api.ask("setMyCommands", ["commands": menu.asJSON])
          return ()
        } catch {
          host.log("the menu of commands could not be registered: \(error.words)")
          return error.isLasting ? () : nil
        }
      }
    }
  }
}

/// The relay's commands as Telegram's menu names them.
struct CommandMenu: Sendable {
  static let tries = Tries(5, first: .seconds(5), multiplier: 3)
  private static let maximumCommands = 100

  /// The relay's names, by the menu's.
  private(set) var names: [String: String] = [:]
  private(set) var asJSON: JSONValue = []

  init(_ commands: [CommandsChanged.Command]) {
    var list: [JSONValue] = []
    for command in commands.prefix(Self.maximumCommands) {
      let name = command.name.lowercased().replacing("-", with: "_")
      guard name.wholeMatch(of: /[a-z0-9_]{1,32}/) != nil, names[name] == nil else { continue }
      names[name] = command.name
      let summary = [command.summary, command.arguments ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
      list.append(["command": .string(name), "description": .string(summary.isEmpty ? name : summary.cut(256))])
    }
    asJSON = .array(list)
  }
}
