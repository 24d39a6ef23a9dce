extension Clock where Duration == Swift.Duration {
  /// The time since now, for arithmetic without the clock's own type of instant.
  package var reading: @Sendable () -> Swift.Duration {
    let start = now
    return { start.duration(to: now) }
  }
}

/// The time limits of many requests, kept by one sleeping task: a task for each would cost more than the request.
package final class TimeLimits<ID: Hashable & Sendable>: Sendable {
  private struct State {
    var due: [ID: Duration] = [:]
    var alarm: Alarm?
    var cancelled = false
  }

  private struct Alarm {
    var due: Duration
    var task: Task<Void, Never>
  }

  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Duration
  private let expired: @Sendable (ID) -> Void
  private let state = Locked(State())

  /// - Parameter expired: called once for each request whose limit has passed, unless it was removed before.
  package init(clock: any Clock<Duration>, expired: @escaping @Sendable (ID) -> Void) {
    self.clock = clock
    self.expired = expired
    now = clock.reading
  }

  deinit {
    state.withLock { $0.alarm?.task.cancel() }
  }

  package func add(_ id: ID, within limit: Duration) {
    let due = now() + limit
    state.withLock { state in
      guard !state.cancelled else { return }
      state.due[id] = due
      // An alarm for a limit that was removed fires once without effect, and is then set again.
      if let alarm = state.alarm, alarm.due <= due { return }
      state.alarm?.task.cancel()
      state.alarm = alarm(at: due, in: limit)
    }
  }

  package func remove(_ id: ID) {
    state.withLock { $0.due[id] = nil }
  }

  /// Forgets everything; nothing expires any more.
  package func cancel() {
    state.withLock { state in
      state.alarm?.task.cancel()
      state.alarm = nil
      state.due = [:]
      state.cancelled = true
    }
  }

  private func alarm(at due: Duration, in delay: Duration) -> Alarm {
    let clock = clock
    return Alarm(
      due: due,
      task: Task { [weak self] in
        // Cancelled: another alarm has taken its place, or nobody needs one.
        guard (try? await clock.sleep(for: delay)) != nil else { return }
        self?.ring(due)
      })
  }

  private func ring(_ alarmDue: Duration) {
    let over: [ID] = state.withLock { state in
      guard state.alarm?.due == alarmDue else { return [] }
      let time = now()
      let over = state.due.filter { $0.value <= time }.map(\.key)
      for id in over { state.due[id] = nil }
      let next = state.due.values.min()
      state.alarm = next.map { alarm(at: $0, in: $0 - time) }
      return over
    }
    for id in over { expired(id) }
  }
}
