internal import RelayConcurrency
internal import RelayTransport

/// Questions to a service whose answers arrive among other events, in parts that bear the question's name.
public final class PendingAnswers<Answer: Sendable>: Sendable {
  private static var limit: Duration { .seconds(10) }

  /// `nil` once the connection has ended.
  private let open = Locked<[String: (answer: Answer, waiters: [CheckedContinuation<Answer?, Never>])]?>([:])

  public init() {}

  /// Asks, and waits at most ten seconds for the answer. Callers that ask the same meanwhile get the same answer.
  ///
  /// - Parameters:
  ///   - name: the name that the parts of the answer bear.
  ///   - beginning: the answer before its first part.
  ///   - ask: sends the question; not called once the connection has ended.
  /// - Returns: the answer; `nil` where it is not complete in time, or the connection has ended.
  public func answer(
    to name: String, beginning: Answer, isolation: isolated (any Actor)? = #isolation, ask: () -> Void
  ) async -> Answer? {
    let limit = Task { if (try? await LoopClock.shared.sleep(for: Self.limit)) != nil { close(name) { _ in nil } } }
    defer { limit.cancel() }
    return await withCheckedContinuation { waiter in
      let isOpen = open.withLock { $0?[name, default: (beginning, [])].waiters.append(waiter) } != nil
      if isOpen { ask() } else { waiter.resume(returning: nil) }
    }
  }

  /// Adds a part to an answer; does nothing where nobody has asked.
  public func add(to name: String, _ change: (inout Answer) -> Void) {
    open.withLock { open in
      guard var question = open?[name] else { return }
      change(&question.answer)
      open?[name] = question
    }
  }

  /// Completes an answer, which its callers get.
  public func finish(_ name: String) { close(name) { $0 } }

  /// Ends every question without an answer, now and later: the connection has ended.
  public func end() {
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
