internal import DequeModule
internal import SessionStates

/// Bounds the output that waits for a messenger that stays away: signs of progress are dropped first, then the oldest
/// messages, and the person is shown how many.
enum OutputBacklog {
  /// Items that may wait for one conversation.
  static let limit = 2_000

  static func compact(_ items: inout Deque<OutputItem>) {
    var (tools, messages) = (0, 0)
    var kept: Deque<OutputItem> = []
    for (index, item) in items.enumerated() {
      switch item {
      // The growing message waits for it, and nothing asks for another.
      case .timer(.flush): kept.append(item)
      case .output(.event(.toolStarted)), .output(.event(.agentStarted)),
        .output(.event(.progress(_, _, isOver: false))), .timer:
        continue
      case .output(.event(.toolEnded)): tools += 1
      case .leftOut(let moreTools, let moreMessages):
        tools += moreTools
        messages += moreMessages
      // The whole message follows.
      case .output(.event(.text)) where index + 1 < items.count && items[index + 1].isEndOfMessage: continue
      default: kept.append(item)
      }
    }
    if kept.count > limit / 2 {
      var excess = kept.count - limit / 2
      kept.removeAll { item in
        guard excess > 0, item.isSpoken else { return false }
        excess -= 1
        messages += 1
        return true
      }
    }
    if tools + messages > 0 { kept.prepend(.leftOut(tools: tools, messages: messages)) }
    items = kept
  }
}

extension OutputItem {
  fileprivate var isEndOfMessage: Bool { if case .output(.event(.messageEnded)) = self { true } else { false } }

  /// Something said, as opposed to what settles questions, messages and runs.
  fileprivate var isSpoken: Bool {
    switch self {
    case .output(.event(.text)), .output(.event(.messageEnded)), .output(.event(.notice)), .output(.event(.timedOut)),
      .output(.say):
      true
    default: false
    }
  }
}
