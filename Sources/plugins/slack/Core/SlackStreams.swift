internal import MessengerKit
internal import PluginSDK

/// Messages that grow by Slack's own streaming, where Slack has it: as answers to somebody, in threads.
///
/// https://docs.slack.dev/reference/methods/chat.startStream
actor SlackStreams {
  private struct Stream {
    let place: SlackPlace
    let key: String
    /// The text that Slack has taken so far; `nil` once that is not certain.
    var shown: String?
  }

  private static let remembered = 1_000

  private let client: SlackClient
  private let log: @Sendable (String) -> Void
  private var me: SlackIdentity?
  /// By conversation and `ts`.
  private var streams: [String: Stream] = [:]
  /// The person who wrote last in a conversation.
  private var askers: [String: String] = [:]
  /// Channels in which Slack does not stream.
  private var unavailable: Set<String> = []

  init(_ client: SlackClient, log: @escaping @Sendable (String) -> Void) {
    self.client = client
    self.log = log
  }

  func introduce(_ me: SlackIdentity) { self.me = me }

  /// A person has written there, for whom answers are streamed.
  func asked(by user: String, in place: SlackPlace) {
    if askers.count >= Self.remembered { askers = [:] }
    askers[place.id] = user
  }

  func isPossible(in place: SlackPlace) -> Bool {
    place.thread != nil && me != nil && askers[place.id] != nil && !unavailable.contains(place.channel)
  }

  func isOpen(_ message: String, in place: SlackPlace) -> Bool { streams[Self.name(message, place)] != nil }

  private static func name(_ message: String, _ place: SlackPlace) -> String { "\(place.channel):\(message)" }

  /// The text without a last line that closes a block of code: the block goes on when the text grows.
  static func growing(_ text: String) -> String {
    guard let line = text.lastIndex(of: "\n") else { return text }
    return text[line...].drop { $0.isWhitespace }.allSatisfy { $0 == "`" || $0 == "~" } && text[line...].count > 1
      ? String(text[..<line]) : text
  }

  /// The part of a text behind what is shown; `nil` where it is not its beginning.
  static func rest(of text: String, behind shown: String) -> String? {
    text.utf8.starts(with: shown.utf8) ? String(text.utf8.dropFirst(shown.utf8.count)) : nil
  }

  /// Begins a message.
  ///
  /// - Returns: its `ts`; `nil` where Slack does not stream, and nothing was sent.
  /// - Throws: `unanswered` where it may have begun.
  func start(_ text: String, key: String, in place: SlackPlace) async throws(RESTError) -> String? {
    guard isPossible(in: place), let me, let asker = askers[place.id] else { return nil }
    let shown = Self.growing(SlackMarkdown.harmless(text))
    var arguments = place.arguments
    arguments["recipient_user_id"] = .string(asker)
    arguments["recipient_team_id"] = .string(me.team)
    arguments["markdown_text"] = .string(shown)
    do throws(RESTError) {
      guard let ts = try await client.ask("chat.startStream", arguments)["ts"]?.stringValue else {
        throw RESTError.unanswered("it named no message")
      }
      if streams.count >= Self.remembered { streams = [:] }
      streams[Self.name(ts, place)] = Stream(place: place, key: key, shown: shown)
      return ts
    } catch {
      if case .rateLimited = error { return nil }
      guard case .refused(let status, let code, let words) = error, status != 401 else { throw error }
      log("Slack does not stream in \(place.channel), messages there are changed instead: \(code ?? words)")
      unavailable.insert(place.channel)
      return nil
    }
  }

  /// Shows what a text has more than before.
  ///
  /// - Returns: false where the message can no longer grow so, and is changed as a whole at its end.
  func append(
    _ text: String, to message: String, in place: SlackPlace, within limit: Duration?
  ) async throws(RESTError) {
    let name = Self.name(message, place)
    guard let shown = streams[name]?.shown else { return }
    let text = Self.growing(SlackMarkdown.harmless(text))
    // The end of a growing text may still change; it is shown whole at the end.
    guard let rest = Self.rest(of: text, behind: shown), !rest.isEmpty else { return }
    streams[name]?.shown = nil
    do {
      try await client.ask(
        "chat.appendStream",
        ["channel": .string(place.channel), "ts": .string(message), "markdown_text": .string(rest)], within: limit,
        isCounted: true)
      streams[name]?.shown = text
    } catch {
      // Slack has refused it, so what was shown is still certain; an end of the streaming shows at the message's end.
      if case .rateLimited = error { streams[name]?.shown = shown }
      throw error
    }
  }

  /// Ends a message with its whole text.
  ///
  /// - Returns: false where the text is to be changed as a whole now.
  func finish(_ content: SlackPosts.Content, of message: String, in place: SlackPlace) async throws(RESTError) -> Bool {
    let name = Self.name(message, place)
    guard let stream = streams[name] else { return false }
    var arguments: [String: JSONValue] = [
      "channel": .string(place.channel), "ts": .string(message), "metadata": SlackPosts.metadata(stream.key),
    ]
    let text = SlackMarkdown.harmless(content.text)
    let rest = stream.shown.flatMap { Self.rest(of: text, behind: $0) }
    if let rest, !rest.isEmpty { arguments["markdown_text"] = .string(rest) }
    if rest != nil, !content.rows.isEmpty { arguments["blocks"] = .array(content.rows) }
    streams[name] = nil
    do throws(RESTError) {
      try await client.ask("chat.stopStream", arguments)
      return rest != nil
    } catch .refused(_, let code, _) where code.map(SlackError.ofToken.contains) != true {
      // The message has ended already, or its blocks are refused: a change of the whole message says which.
      return false
    } catch .rateLimited(let seconds) {
      streams[name] = stream
      throw .rateLimited(seconds: seconds)
    } catch .unanswered {
      return false
    } catch {
      streams[name] = stream
      throw error
    }
  }

  /// The message is gone.
  func forget(_ message: String, in place: SlackPlace) { streams[Self.name(message, place)] = nil }
}
