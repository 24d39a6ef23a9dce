internal import MessengerKit
internal import RelayTransport

/// The drafts of growing answers. Telegram shows one for thirty seconds, so each is shown again while its answer pauses.
actor OpenDrafts {
  struct Draft: Sendable {
    var id: String
    var conversation: String
    var text: String
  }

  private static let renewal: Duration = .seconds(20)
  private static let prefix = "draft:"

  private let show: @Sendable (Draft) async -> Void
  private var tasks: [String: Task<Void, Never>] = [:]

  /// - Parameter show: shows a draft again; a failure needs no handling, because more follows.
  init(show: @escaping @Sendable (Draft) async -> Void) { self.show = show }

  /// The host's id of the message that a send of a growing answer will become. Its draft has the same number in each process.
  static func id(of key: String) -> String {
    var hash: UInt32 = 0x811C_9DC5
    for byte in key.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    // Not zero, and within the numbers that every client has.
    return prefix + "\(hash >> 1 | 1)"
  }

  /// The number of a draft; `nil` for the id of a message.
  static func number(of id: String) -> Int? { id.hasPrefix(prefix) ? Int(id.dropFirst(prefix.count)) : nil }

  /// A draft was shown just now.
  func shown(_ draft: Draft) {
    tasks[draft.id]?.cancel()
    tasks[draft.id] = Task { [show] in
      while (try? await LoopClock.shared.sleep(for: Self.renewal)) != nil { await show(draft) }
    }
  }

  /// A draft is over.
  func close(_ id: String) { tasks.removeValue(forKey: id)?.cancel() }

  func end() {
    for task in tasks.values { task.cancel() }
    tasks = [:]
  }
}
