public import PluginSDK

/// The last message seen in each conversation, kept by the host with every message, so that what was written while nobody
/// listened can be fetched. A pure value.
public struct Watermarks: Sendable {
  /// Those of conversations written in least recently are forgotten first.
  public static let most = 200

  /// The newest last.
  public private(set) var all: [(conversation: String, message: String)] = []
  private var missed: Set<String> = []
  private let isOlder: @Sendable (String, String) -> Bool

  /// - Parameters:
  ///   - kept: the result of `keep(in:)` of an earlier process; anything else counts as empty.
  ///   - isOlder: whether the first of two marks of one conversation comes before the second.
  public init(kept: JSONValue?, isOlder: @escaping @Sendable (String, String) -> Bool) {
    self.isOlder = isOlder
    missed = Set(kept?["missed"]?.list.compactMap(\.stringValue) ?? [])
    for case .array(let pair) in kept?["seen"]?.list ?? [] where pair.count == 2 {
      guard let conversation = pair[0].stringValue, let message = pair[1].stringValue else { continue }
      all.append((conversation, message))
    }
  }

  /// Adds the members `seen` and `missed` to a plugin's state.
  public func keep(in state: inout [String: JSONValue]) {
    state["seen"] = .array(all.map { .array([.string($0.conversation), .string($0.message)]) })
    if !missed.isEmpty { state["missed"] = .array(missed.sorted().map { .string($0) }) }
  }

  /// A plugin's state that has no other members, or a member of one.
  public var asJSON: JSONValue {
    var state: [String: JSONValue] = [:]
    keep(in: &state)
    return .object(state)
  }

  /// The last message seen in a conversation.
  public subscript(conversation: String) -> String? { all.last { $0.conversation == conversation }?.message }

  /// A message has been seen; an older one than the last changes nothing, nor does any where some are missed.
  ///
  /// - Parameter kept: conversations that are never forgotten.
  public mutating func saw(_ message: String, in conversation: String, keeping kept: [String] = []) {
    let last = self[conversation]
    guard !missed.contains(conversation), last.map({ isOlder($0, message) }) ?? true else { return }
    forget(conversation)
    all.append((conversation, message))
    guard all.count > Self.most, let oldest = all.firstIndex(where: { !kept.contains($0.conversation) }) else { return }
    all.remove(at: oldest)
  }

  /// The messages of a conversation could not be fetched: its mark stays until they are.
  public mutating func miss(_ conversation: String) { missed.insert(conversation) }

  /// Missed messages have been fetched.
  public mutating func caughtUp(_ conversation: String) { missed.remove(conversation) }

  /// The conversation is gone.
  public mutating func forget(_ conversation: String) {
    all.removeAll { $0.conversation == conversation }
    missed.remove(conversation)
  }
}
