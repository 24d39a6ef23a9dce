internal import DiscordAPI
internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency

// Messages that were written while no session was there to tell of them.
extension DiscordMessenger {
  /// Handles a new session: messages since the last one are fetched; a first start fetches nothing.
  func catchUp(_ ready: JSONValue) async throws {
    progress.beganSession(servers: ready["guilds"]?.list.compactMap { $0["id"]?.stringValue } ?? [])
    for (channel, watermark) in progress.state.seen.all { try await fetch(channel, after: watermark) }
    if progress.endCatchingUp() { try await keep() }
  }

  func see(_ message: String, in channel: String) {
    progress.state.seen.saw(message, in: channel, keeping: settings.channels ?? [])
  }

  /// Sets the first watermark of a configured channel to Discord's last message. The machine's clock may differ from
  /// Discord's.
  func begin(_ channel: JSONValue) {
    guard let id = channel["id"]?.stringValue, channels.configured(id) != nil, progress.state.seen[id] == nil else {
      return
    }
    // In a channel without a message all ids are later than its own.
    see(channel["last_message_id"]?.stringValue ?? id, in: id)
  }

  /// A session that is resumed does not tell of channels that have been added to the configuration.
  func findFirstWatermarks() async {
    for channel in settings.channels ?? [] where progress.state.seen[channel] == nil {
      do throws(RESTError) {
        begin(try await rest.ask(.channel(channel)))
      } catch {
        host.log("channel \(channel) cannot be looked at: \(error.words)")
      }
    }
  }

  private static let fetching = Tries(8, first: .seconds(1), maximumPause: .seconds(30))

  private func fetch(_ channel: String, after watermark: String) async throws {
    guard let missed = try await missed(channel, after: watermark) else { return }
    progress.state.seen.caughtUp(channel)
    var count = 0
    for message in missed where try await received(message) { count += 1 }
    if count > 0 {
      host.log("channel \(channel): \(count) message(s) were written during the break and are being fetched")
    }
  }

  /// Fetches missed messages; `nil` where Discord refuses.
  private func missed(_ channel: String, after watermark: String) async throws -> [JSONValue]? {
    let backfill = Backfill(rest: rest, log: { [host] in host.log($0) })
    let found = try await Self.fetching.run { () -> [JSONValue]?? in
      do throws(RESTError) {
        return .some(try await backfill.messages(in: channel, after: watermark))
      } catch {
        host.log("channel \(channel): missed messages cannot be fetched: \(error.words)")
        guard error.isLasting else { return nil }
        if case .refused(status: 404, _, _) = error { try await gone(channel) }
        return .some(nil)
      }
    }
    // Fetched with the next session: until then nothing of this channel counts as seen.
    if found == nil { progress.state.seen.miss(channel) }
    return found ?? nil
  }

  /// A thread that was deleted during the break, or a channel.
  private func gone(_ channel: String) async throws {
    progress.state.seen.forget(channel)
    let place = channels.configured(channel) ?? Conversation(id: channel, kind: .thread)
    try await host.closed(ConversationClosed(conversation: place, deleted: true))
  }

  func meet(guild: JSONValue) async throws {
    let known = progress.known
    channels.learn(guild: guild)
    for list in ["channels", "threads"] {
      if case .array(let channels)? = guild[list] { for channel in channels { begin(channel) } }
    }
    await uploads.learn(guild: guild)
    if channels.servesElsewhere || channels.areIn(guild), let id = guild["id"]?.stringValue {
      taskScope.add { [menu] in await menu.joined(id) }
    }
    guard case .array(let threads)? = guild["threads"] else { return }
    for thread in threads {
      // A thread that began during the break.
      guard let place = channels.learn(thread), progress.state.seen[place.id] == nil, let parent = place.parent,
        let last = known.seen[parent], Snowflake.isOlder(last, than: place.id)
      else { continue }
      see(Snowflake.before(place.id), in: place.id)
      try await fetch(place.id, after: Snowflake.before(place.id))
    }
  }
}
