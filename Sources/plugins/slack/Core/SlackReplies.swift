internal import MessengerKit
internal import PluginSDK
internal import RelayHTTP
internal import RelayJSON
internal import RelayWire

/// Answers that only one person sees: Slack takes five of them within thirty minutes of an interaction.
///
/// https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
actor SlackReplies {
  /// The beginning of the ids of messages that only one person sees.
  static let prefix = "private:"
  private static let life: Duration = .seconds(29 * 60)
  private static let uses = 5
  private static let remembered = 500

  private struct Slot {
    let url: String
    var uses: Int
    let until: ContinuousClock.Instant
    var isAnswered = false
  }

  private let client: SlackClient
  /// By the host's names of interactions.
  private var slots: [String: Slot] = [:]
  /// The interaction over whose address a message is changed: the last press in it.
  private var places: [String: String] = [:]
  /// This clock continues while the machine sleeps, as Slack's does.
  private let now: @Sendable () -> ContinuousClock.Instant

  init(_ client: SlackClient, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.client = client
    self.now = now
  }

  /// Remembers an interaction whose answer only the person sees.
  func open(_ interaction: SlackInteraction) {
    guard let url = interaction.responseURL else { return }
    if slots.count > Self.remembered {
      slots = slots.filter { $0.value.until > now() && $0.value.uses > 0 }
      places = places.filter { slots[$0.value] != nil }
    }
    slots[interaction.key] = Slot(url: url, uses: Self.uses, until: now() + Self.life)
    if interaction.isPrivate, case .press(_, let message) = interaction.kind { places[message] = interaction.key }
  }

  /// Answers an interaction.
  ///
  /// - Returns: the message, or `nil` where there is nothing to answer to any more.
  func say(_ body: [String: JSONValue], to key: String, as message: String) async throws(RESTError) -> String? {
    let id = Self.prefix + message
    guard try await post(body, ["response_type": "ephemeral", "replace_original": false], over: key) else { return nil }
    places[id] = places[id] ?? key
    return id
  }

  /// Changes a message that only one person sees: in its place where a button in it was pressed, by another message otherwise.
  ///
  /// - Returns: false where that is no longer possible.
  func change(_ message: String, _ body: [String: JSONValue]) async throws(RESTError) -> Bool {
    guard let key = places[message] else { return false }
    return try await post(
      body, ["response_type": "ephemeral", "replace_original": .bool(key.hasPrefix("action:"))], over: key)
  }

  /// Nothing more is said about it; a command without any answer is shown to be done.
  func close(_ key: String) async throws(RESTError) {
    guard key.hasPrefix("command:"), slots[key]?.isAnswered == false else { return }
    _ = try await say(["text": "✓ Done."], to: key, as: key)
  }

  private func post(
    _ body: [String: JSONValue], _ more: [String: JSONValue], over key: String
  ) async throws(RESTError) -> Bool {
    guard let slot = slots[key], slot.uses > 0, slot.until > now() else { return false }
    slots[key]?.uses -= 1
    slots[key]?.isAnswered = true
    let content = JSONCoding.encode(JSONValue.object(body.merging(more) { $1 }))
    do {
      try await client.post(.bytes(content, type: "application/json"), to: slot.url)
      return true
    } catch .refused {
      slots[key] = nil
      return false
    } catch {
      throw error
    }
  }
}
