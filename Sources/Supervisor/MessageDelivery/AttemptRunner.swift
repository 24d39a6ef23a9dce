internal import RelayConcurrency
internal import RelayModel
internal import RelayStore

/// Carries out attempts: makes their tries, waits between them, and records them for a successor of this daemon.
struct AttemptRunner: Sendable {
  /// The end of an attempt.
  enum End: Sendable, Equatable {
    case succeeded(message: String?, mayBeRepeat: Bool)
    case gaveUp(DeliveryAttempt.Reason)
    /// It would be tried again after this time.
    case postponed(Duration)
    /// The daemon ends, or the messenger is gone for good.
    case interrupted
  }

  let store: SQLiteStore
  let timeSource: TimeSource
  /// Tries of an attempt that has no limit of its own.
  let maximumTries: Int

  /// - Parameter limit: the maximum number of tries; `nil` for the configured one.
  func attempt(
    _ kind: DeliveryAttempt.Kind = .repeatable, limit: Int? = nil, after tries: SendTries = SendTries()
  ) -> DeliveryAttempt {
    let limits = limit.map { DeliveryAttempt.Limits(tries: $0, crashes: $0) }
    return DeliveryAttempt(kind, limits ?? .init(tries: maximumTries), after: tries)
  }

  /// Carries out what the attempt asks for, until it ends.
  ///
  /// - Parameters:
  ///   - key: the record in which the tries are kept for a successor of this daemon.
  ///   - lookUp: finds out whether the last try arrived; `nil` when interrupted.
  ///   - send: makes one try; `nil` when interrupted.
  func run(
    _ attempt: DeliveryAttempt, key: String? = nil,
    lookUp: () async -> DeliveryAttempt.LookUp? = { .inconclusive },
    send: (_ marked: Bool) async -> DeliveryAttempt.Answer?
  ) async -> End {
    var attempt = attempt
    var action = attempt.next(after: .begun)
    while let current = action {
      switch current {
      case .send(let marked):
        guard let answer = await send(marked) else { return .interrupted }
        let isDelivered = if case .delivered = answer { true } else { false }
        if Task.isCancelled, !isDelivered { return .interrupted }
        action = attempt.next(after: .answered(answer))
        if let key, action?.isLast == false { store.scheduleRetryOutbound(key, attempt.tries) }
      case .lookUp:
        guard let found = await lookUp() else { return .interrupted }
        action = attempt.next(after: .lookedUp(found))
      case .wait(let delay):
        guard await timeSource.sleep(for: delay) else { return .interrupted }
        action = attempt.next(after: .waited)
      case .postpone(let delay): return .postponed(delay)
      case .succeed(let message, let mayBeRepeat): return .succeeded(message: message, mayBeRepeat: mayBeRepeat)
      case .giveUp(let reason): return .gaveUp(reason)
      }
    }
    return .interrupted
  }
}
