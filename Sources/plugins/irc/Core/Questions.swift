internal import RelayConcurrency
internal import RelayTransport

/// Questions to a server whose answers come among everything else, in parts, and bear the question's name.
final class Questions<Answer: Sendable>: Sendable {
  private static var limit: Duration { .seconds(10) }

  /// Nil once the connection has ended.
  private let open = Locked<[String: (answer: Answer, waiters: [CheckedContinuation<Answer?, Never>])]?>([:])

  /// Asks, and waits for the answer. Who asks the same meanwhile gets the same answer.
  ///
  /// - Parameter beginning: the answer before a part of it has come.
  /// - Returns: nil where none has come in time, or the connection has ended.
  func answer(to name: String, beginning: Answer, ask: () -> Void) async -> Answer? {
    let limit = Task { if (try? await LoopClock.shared.sleep(for: Self.limit)) != nil { close(name) { _ in nil } } }
    defer { limit.cancel() }
    return await withCheckedContinuation { waiter in
      let isOpen = open.withLock { $0?[name, default: (beginning, [])].waiters.append(waiter) } != nil
      if isOpen { ask() } else { waiter.resume(returning: nil) }
    }
  }

  /// A part of an answer has come; where nobody has asked, nothing follows from it.
  func add(to name: String, _ change: (inout Answer) -> Void) {
    open.withLock { open in
      guard var question = open?[name] else { return }
      change(&question.answer)
      open?[name] = question
    }
  }

  /// The answer is complete.
  func finish(_ name: String) { close(name) { $0 } }

  /// No more answers come.
  func end() {
    let rest = open.withLock { open in
      defer { open = nil }
      return open ?? [:]
    }
    for waiter in rest.values.flatMap(\.waiters) { waiter.resume(returning: nil) }
  }

  private func close(_ name: String, _ answer: (Answer) -> Answer?) {
    guard let question = open.withLock({ $0?.removeValue(forKey: name) }) else { return }
    for waiter in question.waiters { waiter.resume(returning: answer(question.answer)) }
  }
}
