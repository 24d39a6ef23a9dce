internal import DiscordAPI
internal import MessengerKit
internal import RelayConcurrency
internal import RelayJSON

/// Interactions that can still be answered: Discord takes answers for a quarter of an hour.
///
/// Their time counts from their arrival here, never from Discord's time of day, which may not be this machine's. Discord's
/// own refusal decides about one that arrived late.
actor InteractionReplies {
  private struct Slot {
    let application: String
    let token: String
    let isPrivate: Bool
    let until: ContinuousClock.Instant
    /// Discord shows "is thinking…", which the first answer replaces.
    var isThinking: Bool
  }

  /// Where a message that only one person sees is changed.
  private struct Place {
    let application: String
    let token: String
    let message: String
    let until: ContinuousClock.Instant
  }

  static let life: Duration = .seconds(14 * 60)
  private static let remembered = 1_000

  private let rest: RESTClient
  private var slots: [String: Slot] = [:]
  private var places: [String: Place] = [:]

  /// This clock continues while the machine sleeps, as Discord's does.
  nonisolated let now: @Sendable () -> ContinuousClock.Instant

  init(_ rest: RESTClient, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.rest = rest
    self.now = now
  }

  /// Remembers an interaction that has been acknowledged.
  ///
  /// - Parameters:
  ///   - arrived: when it arrived, by `now`.
  ///   - isThere: Discord has taken the acknowledgement.
  func open(_ interaction: Interaction, arrived: ContinuousClock.Instant, isThere: Bool) {
    forgetOld()
    guard isThere else { return }
    let until = arrived + Self.life
    slots[interaction.key] = Slot(
      application: interaction.application, token: interaction.token, isPrivate: interaction.guild != nil,
      until: until, isThinking: interaction.isCommand)
    if interaction.isPrivate, case .press(_, let message) = interaction.kind {
      places[message] = Place(
        application: interaction.application, token: interaction.token, message: "@original", until: until)
    }
  }

  /// Answers an interaction.
  ///
  /// - Returns: the message, or nil where there is nothing to answer to any more.
  func say(_ body: [String: JSONValue], to key: String) async throws(RESTError) -> String? {
    guard let slot = slots[key], slot.until > now() else { return nil }
    var body = body
    let route: Route
    if slot.isThinking {
      slots[key]?.isThinking = false
      route = .editReply("@original", slot.application, slot.token)
    } else {
      route = .followUp(slot.application, slot.token)
      if slot.isPrivate { body["flags"] = .integer(Int64(DiscordMessages.ephemeral)) }
    }
    guard let answer = try await ask(route, .object(body)) else {
      slots[key] = nil
      return nil
    }
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
    guard let place = places[message], place.until > now() else { return false }
    guard try await ask(.editReply(place.message, place.application, place.token), body) != nil else {
      places[message] = nil
      return false
    }
    return true
  }

  /// `nil` where Discord no longer knows the interaction or the message.
  private func ask(_ route: Route, _ body: JSONValue) async throws(RESTError) -> JSONValue? {
    do {
      return try await rest.ask(route, body, isRepeatable: route.method == "PATCH")
    } catch .refused(let status, _, _) where status == 401 || status == 404 {
      return nil
    } catch {
      throw error
    }
  }

  /// Nothing more is said about it.
  func close(_ key: String) async throws(RESTError) {
    guard slots[key]?.isThinking == true else { return }
    _ = try await say(["content": "✓ Done."], to: key)
  }

  private func forgetOld() {
    guard slots.count + places.count > Self.remembered else { return }
    let now = now()
    slots = slots.filter { $0.value.until > now }
    places = places.filter { $0.value.until > now }
  }
}
