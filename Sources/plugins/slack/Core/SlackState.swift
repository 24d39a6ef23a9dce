internal import MessengerKit
internal import PluginSDK

/// The state that the host keeps for the next start: the last message seen in each conversation, and sends that Slack lets nobody
/// look up by their key. A pure value.
struct SlackState: Sendable {
  /// A send that bears no key of ours at Slack, noted before it is made.
  struct Begun: Sendable, Equatable {
    /// The conversation.
    var place: String
    /// The upload of a file; `nil` for a streamed message, which is the first without a key after `after`.
    var file: String?
    var after: String?
  }

  private static let maximumBegun = 40

  var seen: Watermarks
  /// By the host's key, oldest first.
  private(set) var begun: [(key: String, send: Begun)] = []

  init(_ kept: JSONValue?) {
    seen = Watermarks(kept: kept, isOlder: { SlackPlace.isOlder($0, than: $1) })
    for entry in kept?["begun"]?.list ?? [] {
      guard let key = entry["key"]?.stringValue, let place = entry["place"]?.stringValue else { continue }
      begun.append(
        (key, Begun(place: place, file: entry["file"]?.stringValue, after: entry["after"]?.stringValue)))
    }
  }

  var asJSON: JSONValue {
    var state: [String: JSONValue] = [:]
    seen.keep(in: &state)
    state["begun"] = .array(
      begun.map { key, send in
        var entry: [String: JSONValue] = ["key": .string(key), "place": .string(send.place)]
        if let file = send.file { entry["file"] = .string(file) }
        if let after = send.after { entry["after"] = .string(after) }
        return .object(entry)
      })
    return .object(state)
  }

  func begun(_ key: String) -> Begun? { begun.last { $0.key == key }?.send }

  mutating func begin(_ key: String, _ send: Begun) {
    begun.removeAll { $0.key == key }
    begun.append((key, send))
    if begun.count > Self.maximumBegun { begun.removeFirst() }
  }
}
