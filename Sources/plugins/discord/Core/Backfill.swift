internal import DiscordAPI
internal import MessengerKit
internal import RelayJSON

/// Fetches what was written while no session with the gateway was there to tell of it.
struct Backfill: Sendable {
  private static let page = 100

  let rest: RESTClient
  let log: @Sendable (String) -> Void

  /// The messages of a channel after a given one, oldest first, in the form of gateway events.
  func messages(in channel: String, after watermark: String) async throws(RESTError) -> [JSONValue] {
    let missed = try await CatchUp<JSONValue>(
      after: watermark, pageSize: Self.page, mark: { $0["id"]?.stringValue },
      isOlder: { Snowflake.isOlder($0, than: $1) }
    ) { last throws(RESTError) in try await rest.ask(.messages(in: channel, after: last)).list }
    if missed.isCut {
      let maximum = CatchUp<JSONValue>.maximumMessages
      log("channel \(channel): more than \(maximum) messages were missed; later ones are left out")
    }
    return try await completed(missed.messages, in: channel)
  }

  /// With the server and its member, whose roles may be what lets somebody in; the interface leaves them out.
  private func completed(_ messages: [JSONValue], in channel: String) async throws(RESTError) -> [JSONValue] {
    guard !messages.isEmpty, let guild = try await rest.ask(.channel(channel))["guild_id"]?.stringValue else {
      return messages
    }
    var members: [String: JSONValue] = [:]
    var completed: [JSONValue] = []
    for message in messages {
      var message = message.setting("guild_id", .string(guild))
      if let user = message["author"]?["id"]?.stringValue, message["author"]?["bot"] != true {
        if members[user] == nil { members[user] = try await member(user, of: guild) }
        message = message.setting("member", members[user] ?? .null)
      }
      completed.append(message)
    }
    return completed
  }

  /// Null for who has left.
  private func member(_ user: String, of guild: String) async throws(RESTError) -> JSONValue {
    do {
      return try await rest.ask(.member(user, of: guild))
    } catch .refused(let status, _, _) where status == 403 || status == 404 {
      return .null
    } catch {
      throw error
    }
  }
}
