internal import PluginSDK

/// A channel of Slack, or a thread in it: the two halves of a conversation's id, `C0123` or `C0123:1700000000.000100`.
struct SlackPlace: Sendable, Hashable {
  let channel: String
  /// The `ts` of the thread's first message.
  var thread: String?

  init(channel: String, thread: String? = nil) {
    self.channel = channel
    self.thread = thread
  }

  init(_ conversation: String) {
    let parts = conversation.split(separator: ":", maxSplits: 1).map(String.init)
    self.init(channel: parts.first ?? "", thread: parts.count > 1 ? parts[1] : nil)
  }

  /// Direct messages with one person.
  var isDirect: Bool { channel.hasPrefix("D") }
  var id: String { thread.map { "\(channel):\($0)" } ?? channel }

  var conversation: Conversation {
    if thread != nil { return Conversation(id: id, kind: .thread, parent: channel) }
    return Conversation(id: id, kind: isDirect ? .dm : .channel)
  }

  /// The arguments of a method that name the place.
  var arguments: [String: JSONValue] {
    var arguments: [String: JSONValue] = ["channel": .string(channel)]
    if let thread { arguments["thread_ts"] = .string(thread) }
    return arguments
  }

  /// Compares two `ts`: seconds, a point, and six digits.
  static func isOlder(_ ts: String, than other: String) -> Bool {
    let (left, right) = (ts.split(separator: "."), other.split(separator: "."))
    guard let first = left.first, let second = right.first, first.count == second.count else {
      return ts.count < other.count
    }
    return ts < other
  }
}
