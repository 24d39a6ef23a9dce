public import PluginSDK

/// The last message seen in each conversation. The host stores the marks with every message, so that a later process can fetch what
/// was written while nobody listened. A pure value.
public struct Watermarks: Sendable {
  /// The most conversations that are remembered. Those with the oldest last messages are forgotten first.
  public static let maximumConversations = 200

  /// The conversations with their marks, the one written in last at the end.
  public private(set) var all: [(conversation: String, message: String)] = []
  private var missed: Set<String> = []
  private let isOlder: @Sendable (String, String) -> Bool

  /// - Parameters:
  ///   - kept: the state that `keep(in:)` made in an earlier process; any other value counts as none.
  ///   - isOlder: whether the first of two marks of one conversation comes before the second.
  public init(kept: JSONValue?, isOlder: @escaping @Sendable (String, String) -> Bool) {
    self.isOlder = isOlder
    missed = Set(kept?["missed"]?.list.compactMap(\.stringValue) ?? [])
    for case .array(let pair) in kept?["seen"]?.list ?? [] where pair.count == 2 {
      guard let conversation = pair[0].stringValue, let message = pair[1].stringValue else { continue }
      all.append((conversation, message))
    }
  }

  /// Adds the marks to a plugin's state, as its members `seen` and `missed`.
  public func keep(in state: inout [String: JSONValue]) {
    state["seen"] = .array(all.map { .array([.string($0.conversation), .string($0.message)]) })
    if !missed.isEmpty { state["missed"] = .array(missed.sorted().map { .string($0) }) }
  }

  /// The marks as a plugin's state without other members, or as one member of it.
  public var asJSON: JSONValue {
    var state: [String: JSONValue] = [:]
    keep(in: &state)
    return .object(state)
  }

  /// The mark of the last message seen in a conversation; `nil` for a conversation that is not remembered.
  public subscript(conversation: String) -> String? { all.last { $0.conversation == conversation }?.message }

  /// Takes the mark of a message that was seen. It changes nothing where it is older than the last, or where missed messages are
  /// still to be fetched.
  ///
  /// - Parameter kept: the conversations that are never forgotten.
  public mutating func saw(_ message: String, in conversation: String, keeping kept: [String] = []) {
    let last = self[conversation]
    guard !missed.contains(conversation), last.map({ isOlder($0, message) }) ?? true else { return }
    forget(conversation)
    all.append((conversation, message))
    guard all.count > Self.maximumConversations,
      let oldest = all.firstIndex(where: { !kept.contains($0.conversation) })
    else { return }
    all.remove(at: oldest)
  }

  /// Notes that the missed messages of a conversation could not be fetched: its mark stays until `caughtUp`.
  public mutating func miss(_ conversation: String) { missed.insert(conversation) }

  /// Notes that the missed messages of a conversation have been fetched.
  public mutating func caughtUp(_ conversation: String) { missed.remove(conversation) }

  /// Forgets a conversation that is gone.
  public mutating func forget(_ conversation: String) {
    all.removeAll { $0.conversation == conversation }
    missed.remove(conversation)
  }
}
