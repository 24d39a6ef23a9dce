internal import DiscordAPI
internal import FoundationEssentials
internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

// Everything that happens at Discord, in order.
extension DiscordMessenger {
  /// - Returns: whether nothing of what was missed is still to be fetched.
  func handle(_ event: GatewayEvent) async throws -> Bool {
    try await take(event)
    return progress.isCaughtUp
  }

  private func take(_ event: GatewayEvent) async throws {
    progress.saw(event.session)
    switch event.name {
    case "MESSAGE_CREATE": if try await received(event.data) { return }
    case "MESSAGE_UPDATE":
      if let place = try await place(of: event.data),
        let edit = DiscordMessages.edited(event.data, in: place, me: progress.state.me)
      {
        try await host.edited(edit)
      }
    case "MESSAGE_DELETE":
      if let place = try await place(of: event.data), let gone = DiscordMessages.deleted(event.data, in: place) {
        try await host.deleted(gone)
      }
    case "INTERACTION_CREATE": try await take(interaction: event)
    case "READY":
      progress.state.me = event.data["user"]?["id"]?.stringValue
      host.log("connected as \(event.data["user"]?["username"]?.stringValue ?? "?")")
      try await catchUp(event.data)
    case "RESUMED":
      host.log("connected again; the session was resumed")
      await findFirstWatermarks()
      return try await keep()
    case "GUILD_CREATE": try await meet(guild: event.data)
    case "GUILD_DELETE": break
    case "CHANNEL_CREATE", "CHANNEL_UPDATE":
      channels.learn(event.data)
      begin(event.data)
    case "THREAD_CREATE":
      // From its first message on no message of the thread may be missed.
      if let thread = channels.learn(event.data), progress.state.seen[thread.id] == nil {
        see(Snowflake.before(thread.id), in: thread.id)
      }
    case "THREAD_UPDATE", "THREAD_DELETE", "CHANNEL_DELETE": try await changed(event)
    default: break
    }
    if event.name.hasPrefix("GUILD_"), let id = event.data["id"]?.stringValue, progress.met(id) {
      return try await keep()
    }
    if progress.position.isDue { try await keep() }
  }

  func keep() async throws {
    try await host.save(state: progress.storable())
    progress.position.keep()
  }

  private func take(interaction event: GatewayEvent) async throws {
    let number = event.session.sequence
    progress.position.begin(number)
    if try await interactions.take(event.data, later: { await self.finished(number) }) { finished(number) }
  }

  private func finished(_ number: Int) { progress.position.finish(number) }

  /// Asks until Discord names the place of a message: a message that belongs here must not be skipped.
  private func place(of data: JSONValue, isAddressed: Bool? = nil) async throws -> Conversation? {
    while true {
      do {
        return try await channels.conversation(of: data, isAddressed: isAddressed)
      } catch  where error.isLasting {
        return nil
      } catch {
        host.log("the place of a message could not be looked up: \(error.words)")
        try await LoopClock.shared.sleep(for: .seconds(5))
      }
    }
  }

  /// - Returns: whether the host has stored the state with it.
  func received(_ data: JSONValue) async throws -> Bool {
    let isAddressed = DiscordMessages.isAddressed(data, progress.state.me)
    let found = try await place(of: data, isAddressed: isAddressed)
    if let found, token.isAnothers(data, me: progress.state.me) { return try await noteOther(in: found) }
    guard let place = found,
      var message = DiscordMessages.received(data, in: place, me: progress.state.me)
    else {
      // Talk among others in a place where the bot has been mentioned: not to be looked through again after a break.
      if let id = data["id"]?.stringValue, let channel = data["channel_id"]?.stringValue, channels.hears(channel) {
        see(id, in: channel)
      }
      return false
    }
    var next = progress.state
    next.seen.saw(message.id, in: place.id, keeping: settings.channels ?? [])
    message.state = progress.storable(next)
    let reply = try await host.received(message)
    // Messages of strangers leave no trace.
    if reply.refused != true {
      progress.state.seen.saw(message.id, in: place.id, keeping: settings.channels ?? [])
      if isAddressed { channels.hear(place.id) }
    }
    guard reply.stored else { return false }
    progress.position.keep()
    acknowledge(message)
    return true
  }

  /// Another program answers here.
  ///
  /// - Returns: whether the host has stored that.
  private func noteOther(in place: Conversation) async throws -> Bool {
    guard progress.state.noteOther(in: place.id, now: Date().timeIntervalSince1970) else { return false }
    host.log(
      "another pi-relay answers with this bot's token in \(place.title.map { "#\($0)" } ?? "channel \(place.id)"), too: "
        + "give each machine channels of its own, and dms: true to one of them")
    try await keep()
    return true
  }

  private func acknowledge(_ message: MessageReceived) {
    guard let mark = (settings.reactions ?? MessageMarks()).afterStoring else { return }
    react(mark, to: message.id, in: message.conversation.id)
  }

  func react(_ reaction: String, to message: String, in channel: String) {
    taskScope.add { [rest, host] in
      do throws(RESTError) {
        try await rest.ask(.react(reaction, to: message, in: channel))
      } catch {
        // Decoration: neither tried for long nor worth more than a line.
        host.log("a reaction could not be added: \(error.words)")
      }
    }
  }

  /// A thread was put away, taken out again, or deleted; or a channel was.
  private func changed(_ event: GatewayEvent) async throws {
    let place = channels.learn(event.data) ?? channels.configured(event.data["id"]?.stringValue)
    if event.name != "THREAD_UPDATE", let id = event.data["id"]?.stringValue {
      channels.forget(id)
      progress.state.seen.forget(id)
    }
    guard let place else { return }
    if event.name != "THREAD_UPDATE" {
      try await host.closed(ConversationClosed(conversation: place, deleted: true))
    } else if event.data["thread_metadata"]?["archived"] == true {
      try await host.closed(ConversationClosed(conversation: place))
    } else {
      try await host.reopened(ConversationReopened(conversation: place))
    }
  }
}
