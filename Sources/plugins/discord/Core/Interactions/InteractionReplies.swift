internal import RelayPipes
internal import RelayWire

/// Interactions that can still be answered: Discord takes answers for a quarter of an hour.
actor InteractionReplies {
  private struct Slot {
    let application: String
    let token: String
    let isPrivate: Bool
    let until: LoopClock.Instant
    /// True once Discord has taken the acknowledgement; before, it would refuse an answer.
    let acknowledgement: Task<Bool, Never>
    /// What stands for "is thinking…" and is to be replaced by the first answer.
    var isThinking: Bool
  }

  /// Where a message that only one person sees is changed.
  private struct Place {
    let application: String
    let token: String
    let message: String
    let until: LoopClock.Instant
  }

  private static let life: Duration = .seconds(14 * 60)
  private static let remembered = 1_000

  private let rest: RESTClient
  private let clock = LoopClock.shared
  private var slots: [String: Slot] = [:]
  private var places: [String: Place] = [:]

  init(_ rest: RESTClient) { self.rest = rest }

  /// Remembers an interaction that is being acknowledged.
  ///
  /// - Parameters:
  ///   - key: what the host calls it: `command:` or `action:` and its id.
  ///   - isThinking: the acknowledgement says that an answer follows.
  func open(
    _ key: String, _ interaction: Interaction, isPrivate: Bool, isThinking: Bool, acknowledgement: Task<Bool, Never>
  ) {
    forgetOld()
    let until = clock.now.advanced(by: Self.life)
    slots[key] = Slot(
      application: interaction.application, token: interaction.token, isPrivate: isPrivate, until: until,
      acknowledgement: acknowledgement, isThinking: isThinking)
    if interaction.isPrivate, case .press(_, let message) = interaction.kind {
      places[message] = Place(
        application: interaction.application, token: interaction.token, message: "@original", until: until)
    }
  }

  /// Answers an interaction.
  ///
  /// - Returns: the message, or nil where there is nothing to answer to any more.
  func say(_ body: [String: JSONValue], to key: String) async throws(RESTError) -> String? {
    guard let slot = slots[key], slot.until > clock.now, await slot.acknowledgement.value else { return nil }
    var body = body
    let route: Route
    if slots[key]?.isThinking == true {
      slots[key]?.isThinking = false
      route = .editReply("@original", slot.application, slot.token)
    } else {
      route = .followUp(slot.application, slot.token)
      if slot.isPrivate { body["flags"] = .integer(Int64(DiscordMessages.ephemeral)) }
    }
    let answer = try await rest.ask(route, .object(body), isRepeatable: route.method == "PATCH")
    guard let message = answer["id"]?.stringValue else { throw .unanswered("it named no message") }
    if slot.isPrivate {
      places[message] = Place(
        application: slot.application, token: slot.token, message: message, until: slot.until)
    }
    return message
  }

  /// Changes a message that only one person sees.
  ///
  /// - Returns: false when it is none of those.
  func change(_ message: String, _ body: JSONValue) async throws(RESTError) -> Bool {
    guard let place = places[message], place.until > clock.now else { return false }
    _ = try await rest.ask(.editReply(place.message, place.application, place.token), body)
    return true
  }

  /// Nothing more is said about it.
  func close(_ key: String) async throws(RESTError) {
    guard slots[key]?.isThinking == true else { return }
    _ = try await say(["content": "✓ Done."], to: key)
  }

  private func forgetOld() {
    guard slots.count + places.count > Self.remembered else { return }
    slots = slots.filter { $0.value.until > clock.now }
    places = places.filter { $0.value.until > clock.now }
  }
}
