internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

// Everything that happens at Slack, in order.
extension SlackMessenger {
  func handle(_ arrival: SlackConnections.Arrival) async throws {
    switch arrival {
    case .connected:
      host.log("connected as \(me?.name ?? "?") in \(me?.teamName ?? "?")")
      try await catchUp()
      await standing.isConnected()
    case .envelope(let envelope):
      switch envelope.kind {
      case .event: try await take(event: envelope.payload)
      case .interaction:
        if let interaction = SlackInteraction(interaction: envelope.payload) { try await take(interaction) }
      case .command:
        if let command = SlackInteraction(command: envelope.payload) { try await take(command) }
      }
      // Only now: Slack repeats what a crash before this line has kept from the host.
      envelope.acknowledge()
    }
  }

  private func take(event payload: JSONValue) async throws {
    guard let event = payload["event"] else { return }
    switch event["type"]?.stringValue {
    case "message", "app_mention":
      switch event["subtype"]?.stringValue {
      case "message_changed", "message_deleted":
        let id = payload["event_id"]?.stringValue ?? ""
        guard id.isEmpty || progress.handled.receipt(of: id) == nil else { return }
        try await change(event)
        progress.handled.finish(id, Receipt(message: id))
      default:
        if let message = SlackMessage(event, me: me?.user) { _ = try await received(message) }
      }
    case "channel_archive", "group_archive": try await closed(event, isDeleted: false)
    case "channel_deleted", "group_deleted": try await closed(event, isDeleted: true)
    case "channel_unarchive", "group_unarchive":
      for place in places(in: event["channel"]?.stringValue) {
        try await host.reopened(ConversationReopened(conversation: place.conversation))
      }
    case "user_change": people.forget(event["user"]?["id"]?.stringValue ?? "")
    default: break
    }
  }

  /// Reports whether messages of a place are for the bot though they do not name it.
  private func hears(_ place: SlackPlace) -> Bool {
    place.isDirect || settings.channels?.contains(place.channel) == true
      || place.thread != nil && settings.hearsMentions && progress.state.seen[place.id] != nil
  }

  /// - Returns: whether the host has stored it now.
  func received(_ message: SlackMessage) async throws -> Bool {
    progress.note(message.ts, in: message.place)
    let isAddressed = message.place.isDirect || SlackText.mentions(me?.user, in: message.text)
    guard hears(message.place) || isAddressed && settings.hearsMentions else { return false }
    let person = await people.person(message.user)
    guard !person.isNobody else { return false }
    guard me?.isStranger(person, team: message.team) != true else {
      host.log("\(message.user) belongs to another workspace, and is not heard")
      return false
    }
    let text = await SlackText.readable(message.text, me: me?.user, people).withCommandSlash
    var next = progress.state
    for conversation in marks(of: message) {
      next.seen.saw(message.ts, in: conversation, keeping: settings.channels ?? [])
    }
    let handed = MessageReceived(
      id: message.ts, time: Double(message.ts), conversation: message.place.conversation,
      sender: Sender(id: message.user, name: person.name), text: text, mention: isAddressed ? true : nil,
      state: next.asJSON)
    let reply = try await files.received(handed, with: await message.files(client))
    // Messages of strangers leave no trace.
    guard reply.refused != true else { return false }
    for conversation in marks(of: message) {
      progress.state.seen.saw(message.ts, in: conversation, keeping: settings.channels ?? [])
    }
    await streams.asked(by: message.user, in: message.place)
    guard reply.stored else { return false }
    if let mark = (settings.reactions ?? MessageMarks()).afterStoring {
      react(mark, to: message.ts, in: message.place)
    }
    return true
  }

  /// The conversations whose last message this is: its thread, and the channel where it stands outside of threads.
  private func marks(of message: SlackMessage) -> [String] {
    message.isTop && message.place.thread != nil ? [message.place.id, message.channel] : [message.place.id]
  }

  func react(_ reaction: String, to message: String, in place: SlackPlace) {
    let names = ["👀": "eyes", "✅": "white_check_mark", "❌": "x", "👍": "+1", "⚠️": "warning"]
    let name = names[reaction] ?? reaction.filter { $0 != ":" }
    taskScope.add { [client, host] in
      do throws(RESTError) {
        try await client.ask(
          "reactions.add",
          ["channel": .string(place.channel), "timestamp": .string(message), "name": .string(name)])
      } catch {
        // Decoration: neither tried for long nor worth more than a line.
        if error.code != "already_reacted" { host.log("a reaction could not be added: \(error.words)") }
      }
    }
  }

  /// A message was edited or deleted. Slack also says so when it has added a preview of a link.
  private func change(_ event: JSONValue) async throws {
    let isDeleted = event["subtype"] == "message_deleted" || event["message"]?["subtype"] == "tombstone"
    let before = event["previous_message"]
    guard let channel = event["channel"]?.stringValue,
      let message = SlackMessage((isDeleted ? before : event["message"]) ?? .null, channel: channel, me: me?.user),
      hears(message.place)
    else { return }
    if isDeleted {
      let person = await people.person(message.user)
      try await host.deleted(
        MessageDeleted(
          id: message.ts, conversation: message.place.conversation,
          sender: Sender(id: message.user, name: person.name)))
    } else if before?["text"]?.stringValue != message.text {
      let person = await people.person(message.user)
      guard me?.isStranger(person, team: message.team) != true else { return }
      let text = await SlackText.readable(message.text, me: me?.user, people).withCommandSlash
      try await host.edited(
        MessageEdited(
          id: message.ts, conversation: message.place.conversation,
          sender: Sender(id: message.user, name: person.name), text: text))
    }
  }

  /// The channel and its threads, as far as they are known.
  private func places(in channel: String?) -> [SlackPlace] {
    guard let channel else { return [] }
    let known = progress.state.seen.all.map { SlackPlace($0.conversation) }.filter { $0.channel == channel }
    return settings.channels?.contains(channel) == true ? Array(Set(known + [SlackPlace(channel: channel)])) : known
  }

  private func closed(_ event: JSONValue, isDeleted: Bool) async throws {
    for place in places(in: event["channel"]?.stringValue) {
      try await host.closed(ConversationClosed(conversation: place.conversation, deleted: isDeleted ? true : nil))
      if isDeleted { progress.state.seen.forget(place.id) }
    }
    if isDeleted { try await keep() }
  }

  // MARK: - Messages of a break

  private static let fetching = Tries(8, first: .seconds(1), maximumPause: .seconds(30))

  /// Fetches the messages since the last one of each conversation; a first start fetches nothing.
  private func catchUp() async throws {
    let history = SlackHistory(client: client)
    for channel in settings.channels ?? [] where progress.state.seen[channel] == nil {
      do throws(RESTError) {
        // In an empty channel all that follows is new.
        progress.state.seen.saw(try await history.last(in: channel) ?? "0000000000.000000", in: channel)
      } catch {
        host.log("channel \(channel) cannot be looked at: \(error.words)")
      }
    }
    for (conversation, mark) in progress.state.seen.all {
      let place = SlackPlace(conversation)
      guard let missed = try await fetch(place, after: mark, history) else { continue }
      progress.state.seen.caughtUp(conversation)
      if missed.isCut { host.log("\(conversation): more messages were missed than are fetched") }
      for data in missed.messages {
        guard let message = SlackMessage(data, channel: place.channel, me: me?.user) else { continue }
        if try await received(message) { host.log("\(conversation): a message of the break was fetched") }
      }
    }
    try await keep()
  }

  /// `nil` where Slack refuses.
  private func fetch(
    _ place: SlackPlace, after mark: String, _ history: SlackHistory
  ) async throws -> CatchUp<JSONValue>? {
    let found = try await Self.fetching.run { () -> CatchUp<JSONValue>?? in
      do throws(RESTError) {
        return .some(try await history.messages(in: place, after: mark))
      } catch {
        host.log("\(place.id): missed messages cannot be fetched: \(error.words)")
        // One request a minute is all that apps distributed outside of Slack's marketplace have.
        if case .rateLimited(let seconds) = error { try await LoopClock.shared.sleep(for: .seconds(min(seconds, 90))) }
        guard error.isLasting || SlackError.problem(error) != nil else { return nil }
        if error.code == "thread_not_found" || error.code == "channel_not_found" {
          progress.state.seen.forget(place.id)
        }
        return .some(nil)
      }
    }
    if found == nil { progress.state.seen.miss(place.id) }
    return found ?? nil
  }

  // MARK: - Interactions

  /// Opens a form at once, because Slack waits three seconds; everything else keeps its order.
  nonisolated func arrived(_ envelope: Envelope) -> Bool {
    guard envelope.kind == .interaction, let interaction = SlackInteraction(interaction: envelope.payload),
      case .formWanted(let dialog) = interaction.kind
    else { return false }
    taskScope.add { await self.offer(dialog, interaction) }
    envelope.acknowledge()
    return true
  }

  /// The form holds what was written already, which is not for strangers.
  private func offer(_ dialog: String, _ interaction: SlackInteraction) async {
    guard let trigger = interaction.trigger, let place = interaction.place else { return }
    do {
      guard try await isAllowed(interaction, in: place) else { return await refuse(interaction) }
      let view = SlackBlocks.form(forms.form(of: dialog), dialog: dialog, place: place.id)
      try await client.ask("views.open", ["trigger_id": .string(trigger), "view": view], within: .seconds(4))
    } catch {
      host.log("a form could not be offered: \((error as? RESTError)?.words ?? "\(error)")")
    }
  }

  private func sender(of interaction: SlackInteraction) async -> Sender? {
    let person = await people.person(interaction.user)
    guard me?.isStranger(person, team: interaction.team) != true, !person.isNobody else { return nil }
    return Sender(id: interaction.user, name: person.name == interaction.user ? interaction.userName : person.name)
  }

  private func isAllowed(_ interaction: SlackInteraction, in place: SlackPlace) async throws -> Bool {
    guard let sender = await sender(of: interaction) else { return false }
    return try await !host.completions(
      CommandComplete(conversation: place.conversation, sender: sender, text: "/help")
    ).isEmpty
  }

  private func refuse(_ interaction: SlackInteraction) async {
    await replies.open(interaction)
    do throws(RESTError) {
      _ = try await replies.say(["text": "Not authorized."], to: interaction.key, as: interaction.key)
    } catch {
      host.log("an interaction could not be answered: \(error.words)")
    }
  }

  private func take(_ interaction: SlackInteraction) async throws {
    guard let sender = await sender(of: interaction) else { return await refuse(interaction) }
    let used = interaction.place
    var place = used ?? SlackPlace(channel: "")
    // Where the bot is not at home a command concerns the person's direct messages, and nothing is opened for a stranger.
    if !interaction.isPress, used == nil || used?.isDirect == true || settings.channels?.contains(place.channel) != true
    {
      guard try await isAllowed(interaction, in: SlackPlace(channel: "D")) else { return await refuse(interaction) }
      do throws(RESTError) {
        place = SlackPlace(channel: try await people.directMessages(with: interaction.user))
      } catch {
        host.log("the direct messages with \(interaction.user) cannot be opened: \(error.words)")
        return
      }
    }
    // In direct messages answers stay, elsewhere one person sees them.
    if used?.id != place.id || !place.isDirect { await replies.open(interaction) }
    let reply: MessageReceived.Reply
    switch interaction.kind {
    case .command(let name, let arguments):
      reply = try await host.invoked(
        CommandInvoked(
          id: interaction.id, conversation: place.conversation, sender: sender, name: name,
          arguments: arguments.isEmpty ? nil : arguments))
    case .press(let action, let message):
      reply = try await host.invoked(
        ActionInvoked(
          id: interaction.id, conversation: place.conversation, sender: sender, action: action, message: message))
    case .form(let dialog, let text):
      let place = used ?? place
      reply = try await host.invoked(
        ActionInvoked(
          id: interaction.id, conversation: place.conversation, sender: sender, action: dialog, text: text))
    case .handedOver(let data):
      let text = await SlackText.readable(data["text"]?.stringValue ?? "", me: me?.user, people)
      reply = try await host.received(
        MessageReceived(
          id: interaction.id, conversation: place.conversation, sender: sender, text: text, mention: true,
          forwarded: true))
    case .formWanted: return
    }
    if reply.refused == true { await refuse(interaction) }
  }
}
