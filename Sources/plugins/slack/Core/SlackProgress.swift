internal import MessengerKit
internal import PluginSDK

/// The bot's progress through Slack's messages: the part that the host keeps, and what this process knows beside it. A pure
/// value.
struct SlackProgress: Sendable {
  private static let remembered = 2_000

  var state: SlackState
  /// Edits and deletions that the host has, by the ids of their events: it knows repeats of messages by itself.
  var handled = SendProgress<Void>(maximum: SlackProgress.remembered)
  /// The last `ts` that is known of each conversation, by Slack's own clock.
  private var last: [String: String] = [:]

  init(_ state: SlackState) { self.state = state }

  func last(in place: SlackPlace) -> String? { last[place.id] }

  /// Notes the newest `ts` of a conversation, from which its later messages are looked for.
  mutating func note(_ ts: String, in place: SlackPlace) {
    if last.count >= Self.remembered { last = [:] }
    if last[place.id].map({ SlackPlace.isOlder($0, than: ts) }) ?? true { last[place.id] = ts }
  }
}
