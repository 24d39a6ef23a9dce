internal import MessengerKit
internal import PluginSDK

/// Messages of the bot, each in the best form that Slack takes: Markdown, Slack's own markup, plain text.
struct SlackPosts: Sendable {
  struct Content: Sendable {
    var text: String
    /// Blocks of buttons.
    var rows: [JSONValue] = []
  }

  /// The name under which a message bears the host's key.
  static let eventType = "pi_relay"

  private enum Form: CaseIterable {
    case markdown, mrkdwn, plain
  }

  private static let refusals: Set<String> = [
    "invalid_blocks", "invalid_blocks_format", "invalid_block", "blocks_too_long",
  ]

  let client: SlackClient
  let streams: SlackStreams

  static func metadata(_ key: String) -> JSONValue {
    ["event_type": .string(eventType), "event_payload": ["key": .string(key)]]
  }

  static func key(of message: JSONValue) -> String? {
    guard message["metadata"]?["event_type"]?.stringValue == eventType else { return nil }
    return message["metadata"]?["event_payload"]?["key"]?.stringValue
  }

  private static func body(_ content: Content, _ form: Form) -> [String: JSONValue] {
    switch form {
    case .markdown:
      [
        "text": .string(SlackText.escaped(content.text)),
        "blocks": .array([SlackMarkdown.block(content.text)] + content.rows),
      ]
    case .mrkdwn: marked(content)
    case .plain: ["text": .string(SlackText.escaped(content.text)), "blocks": [], "mrkdwn": false]
    }
  }

  /// The content in Slack's own markup, also for answers that only one person sees.
  static func marked(_ content: Content) -> [String: JSONValue] {
    [
      "text": .string(SlackMarkdown.mrkdwn(content.text)),
      "blocks": .array(SlackMarkdown.sections(content.text) + content.rows),
    ]
  }

  /// Sends or changes a message in the first form that Slack takes.
  private func ask(
    _ method: String, _ arguments: [String: JSONValue], _ content: Content, within limit: Duration? = nil,
    isCounted: Bool = false
  ) async throws(RESTError) -> JSONValue {
    var isCounted = isCounted
    for form in Form.allCases {
      do {
        return try await client.ask(
          method, arguments.merging(Self.body(content, form)) { $1 }, within: limit, isCounted: isCounted)
      } catch {
        guard form != .plain, error.code.map(Self.refusals.contains) == true else { throw error }
        isCounted = false
      }
    }
    throw .unreachable("no form is left")
  }

  /// Sends a message.
  ///
  /// - Returns: its `ts`.
  func post(_ content: Content, key: String, in place: SlackPlace) async throws(RESTError) -> String {
    var arguments = place.arguments
    arguments["metadata"] = Self.metadata(key)
    // Links in an agent's words are not to be looked at by Slack.
    arguments["unfurl_links"] = false
    arguments["unfurl_media"] = false
    let answer = try await ask("chat.postMessage", arguments, content)
    guard let ts = answer["ts"]?.stringValue else { throw .unanswered("it named no message") }
    return ts
  }

  /// Replaces the content of a message.
  func change(
    _ message: String, _ content: Content, in place: SlackPlace, within limit: Duration? = nil, isCounted: Bool = false
  ) async throws(RESTError) {
    let arguments: [String: JSONValue] = ["channel": .string(place.channel), "ts": .string(message)]
    do {
      _ = try await ask("chat.update", arguments, content, within: limit, isCounted: isCounted)
    } catch .refused(_, "streaming_state_conflict", _) {
      // An earlier process began to stream it.
      try await client.ask("chat.stopStream", arguments)
      _ = try await ask("chat.update", arguments, content, within: limit)
    } catch .refused(status: 413, let code, let words) {
      // Sent again, a text may be longer.
      throw .refused(status: 404, code: code, words)
    } catch {
      throw error
    }
  }

  // MARK: - Growing messages

  private func lane(_ place: (message: String, conversation: String)) async -> RateLimits.Lane {
    let isStreamed = await streams.isOpen(place.message, in: SlackPlace(place.conversation))
    return SlackClient.lane(isStreamed ? "chat.appendStream" : "chat.update", [:])
  }

  var growth: GrowingEdits<Content, RESTError>.Service {
    .init(
      takesRoom: { await client.requests.takesRoomToSpare(for: await lane($0)) },
      waitsForRoom: { await client.requests.waitsForRoomToSpare(for: await lane($0)) },
      change: { place, content, isLate throws(RESTError) in
        let limit: Duration? = isLate ? .seconds(5) : nil
        let there = SlackPlace(place.conversation)
        if await streams.isOpen(place.message, in: there) {
          try await streams.append(content.text, to: place.message, in: there, within: limit)
        } else {
          try await change(place.message, content, in: there, within: limit, isCounted: true)
        }
      })
  }
}
