internal import RelayConcurrency
internal import RelayWire

/// Fetches what was written while no session with the gateway was there to tell of it.
struct Backfill: Sendable {
  /// Of one conversation; of more the newest are left out, which is said.
  static let mostMessages = 500
  private static let page = 100

  let rest: RESTClient
  let log: @Sendable (String) -> Void

  /// The messages of a channel after another, oldest first, as the gateway would have told of them.
  func messages(in channel: String, after watermark: String) async throws(RESTError) -> [JSONValue] {
    var all: [JSONValue] = []
    var last = watermark
    while all.count < Self.mostMessages {
      guard case .array(let page) = try await rest.ask(.messages(in: channel, after: last)), !page.isEmpty else {
        break
      }
      let ids = page.compactMap { $0["id"]?.stringValue }
      all += page
      last = ids.max { Snowflake.isOlder($0, than: $1) } ?? last
      if page.count < Self.page { break }
    }
    if all.count >= Self.mostMessages {
      log("channel \(channel): more than \(Self.mostMessages) messages were missed; later ones are left out")
    }
    let sorted = all.sorted { Snowflake.isOlder($0["id"]?.stringValue ?? "", than: $1["id"]?.stringValue ?? "") }
    return try await completed(Array(sorted.prefix(Self.mostMessages)), in: channel)
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
