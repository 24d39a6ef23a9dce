internal import RelayConcurrency
internal import RelayTransport

/// Puts timers into the queue of a conversation's output when their time has come.
struct OutputReminders: Sendable {
  let items: Mailbox<OutputItem>
  let taskScope: TaskScope
  let timeSource: TimeSource

  func add(_ timer: OutputTimer, after wait: Duration) {
    guard wait > .zero else {
      items.post(.timer(timer))
      return
    }
    taskScope.add(on: EventLoop.shared) { [items, timeSource] in
      if await timeSource.sleep(for: wait) { items.post(.timer(timer)) }
    }
  }
}
