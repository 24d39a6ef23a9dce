internal import MessengerKit
internal import PluginSDK

/// The messages of a conversation as Slack keeps them.
struct SlackHistory: Sendable {
  private static let page = 200
  private static let maximumPages = 10

  let client: SlackClient

  /// One page of messages after a mark.
  ///
  /// - Parameter more: adds arguments.
  private func ask(
    _ place: SlackPlace, after oldest: String?, cursor: String? = nil, _ more: [String: JSONValue] = [:]
  ) async throws(RESTError) -> (messages: [JSONValue], cursor: String?) {
    var arguments = more
    arguments["channel"] = .string(place.channel)
    arguments["limit"] = arguments["limit"] ?? .integer(Int64(Self.page))
    if let oldest {
      arguments["oldest"] = .string(oldest)
      arguments["inclusive"] = false
    }
    if let cursor { arguments["cursor"] = .string(cursor) }
    if let thread = place.thread { arguments["ts"] = .string(thread) }
    let answer = try await client.ask(
      place.thread == nil ? "conversations.history" : "conversations.replies", arguments)
    let next = answer["response_metadata"]?["next_cursor"]?.stringValue
    return (answer["messages"]?.list ?? [], next?.isEmpty == false ? next : nil)
  }

  /// The messages after a mark, oldest first.
  ///
  /// - Returns: also whether more may have been missed.
  func messages(in place: SlackPlace, after mark: String) async throws(RESTError) -> CatchUp<JSONValue> {
    // Slack begins with the newest, so all pages are one for the kit.
    try await CatchUp<JSONValue>(
      after: mark, pageSize: .max, mark: { $0["ts"]?.stringValue }, isOlder: { SlackPlace.isOlder($0, than: $1) }
    ) { oldest throws(RESTError) in
      var (all, cursor) = ([JSONValue](), String?.none)
      for _ in 0..<Self.maximumPages {
        let page = try await ask(place, after: oldest, cursor: cursor)
        // The first message of a thread comes with every page of replies.
        all += page.messages.filter { $0["ts"]?.stringValue.map { SlackPlace.isOlder(oldest, than: $0) } ?? false }
        cursor = page.cursor
        if cursor == nil { break }
      }
      return all
    }
  }

  /// The `ts` of the last message; `nil` in a channel without messages.
  func last(in channel: String) async throws(RESTError) -> String? {
    try await ask(SlackPlace(channel: channel), after: nil, cursor: nil, ["limit": 1]).messages.first?["ts"]?
      .stringValue
  }

  /// Finds a message of the bot by the key that it bears.
  ///
  /// - Parameters:
  ///   - isUnmarked: whether a message is the one looked for though it bears no key.
  /// - Returns: its `ts`.
  func find(
    _ key: String, in place: SlackPlace, after oldest: String?, isUnmarked: (JSONValue) -> Bool
  ) async throws(RESTError) -> String? {
    var cursor: String?
    var unmarked: String?
    for _ in 0..<Self.maximumPages {
      let page = try await ask(place, after: oldest, cursor: cursor, ["include_all_metadata": true])
      for message in page.messages {
        guard let ts = message["ts"]?.stringValue else { continue }
        if SlackPosts.key(of: message) == key { return ts }
        guard isUnmarked(message) else { continue }
        // The first behind the mark.
        if unmarked.map({ SlackPlace.isOlder(ts, than: $0) }) ?? true { unmarked = ts }
      }
      cursor = page.cursor
      if cursor == nil { break }
    }
    return unmarked
  }
}
