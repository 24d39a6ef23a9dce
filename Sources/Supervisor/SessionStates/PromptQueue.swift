internal import DequeModule
package import RelayModel

/// The work that waits in a session: messages, which can still be changed, and compactions. A pure value.
package struct PromptQueue: Sendable {
  package struct Compaction: Sendable {
    package let instructions: String?
    /// Takes the words for the person who asked; `nil` when the daemon ends first.
    package let answer: @Sendable (String?) -> Void

    package init(instructions: String?, answer: @escaping @Sendable (String?) -> Void) {
      self.instructions = instructions
      self.answer = answer
    }
  }

  package enum Work: Sendable {
    case prompt(Prompt)
    case compaction(Compaction)
  }

  private var work: Deque<Work> = []

  package init() {}

  package var count: Int { work.count }

  package var isEmpty: Bool { work.isEmpty }

  package var hasCompaction: Bool { work.contains { if case .compaction = $0 { true } else { false } } }

  /// The keys of the messages, in order.
  package var keys: [MessageKey] { work.compactMap { if case .prompt(let prompt) = $0 { prompt.key } else { nil } } }

  /// Takes a message.
  ///
  /// - Parameter limit: the number of waiting items from which on a message is refused that was not accepted before.
  /// - Returns: false when it was refused.
  package mutating func enqueue(_ prompt: Prompt, limit: Int) -> Bool {
    var prompt = prompt
    prompt.life.take(work.count < limit ? .enqueued : .queueFull)
    guard prompt.life.state == .queued else { return false }
    work.append(.prompt(prompt))
    return true
  }

  package mutating func enqueue(_ compaction: Compaction) { work.append(.compaction(compaction)) }

  /// Puts messages at the front, which keep their order.
  package mutating func prepend(_ prompts: [Prompt]) {
    for prompt in prompts.reversed() { work.prepend(.prompt(prompt)) }
  }

  package mutating func popFirst() -> Work? { work.popFirst() }

  package mutating func removeAll() -> [Work] {
    defer { work = [] }
    return Array(work)
  }

  /// Takes out the messages of these conversations.
  package mutating func removeAll(from isMeant: (ConversationKey) -> Bool) -> [Prompt] {
    var removed: [Prompt] = []
    work.removeAll { one in
      guard case .prompt(let prompt) = one, isMeant(prompt.key.conversation) else { return false }
      removed.append(prompt)
      return true
    }
    return removed
  }

  package func contains(_ key: MessageKey) -> Bool { index(of: key) != nil }

  /// Replaces the text of a waiting message; `nil` when there is none.
  package mutating func replace(_ key: MessageKey, text: String, typed: String) -> MessageChange? {
    guard let index = index(of: key), case .prompt(var prompt) = work[index] else { return nil }
    let change = prompt.replace(text: text, typed: typed)
    work[index] = .prompt(prompt)
    return change
  }

  package enum Withdrawal: Equatable {
    case done(MessageEnd)
    /// The agent may have it.
    case tooLate
  }

  /// Withdraws a waiting message; `nil` when there is none.
  package mutating func withdraw(_ key: MessageKey) -> Withdrawal? {
    guard let index = index(of: key), case .prompt(var prompt) = work[index] else { return nil }
    prompt.life.take(.withdrawn)
    guard let end = MessageEnd(prompt.key, prompt.life) else {
      work[index] = .prompt(prompt)
      return .tooLate
    }
    work.remove(at: index)
    return .done(end)
  }

  private func index(of key: MessageKey) -> Int? {
    work.firstIndex { if case .prompt(let prompt) = $0 { prompt.key == key } else { false } }
  }
}

extension Prompt {
  /// Replaces the text of a message that the agent does not have yet.
  package mutating func replace(text: String, typed: String) -> MessageChange {
    guard life.isEditable else { return .tooLate }
    guard self.typed != typed else { return .unchanged }
    self.text = text
    self.typed = typed
    return .done
  }

  /// Aborts a message that waits, or was steered.
  ///
  /// - Returns: its end; `nil` when it has none.
  package mutating func abort() -> MessageEnd? { life.take(.aborted).flatMap { _ in MessageEnd(key, life) } }
}
