internal import RelayConcurrency
internal import RelayTransport

/// Puts timers into the queue of a conversation's output when their time has come.
struct OutputReminders: Sendable {
  let items: Mailbox<OutputItem>
  let taskScope: TaskScope
  let timekeeper: Timekeeper

  func add(_ timer: OutputTimer, after wait: Duration) {
    guard wait > .zero else {
      items.post(.timer(timer))
      return
    }
    taskScope.add(on: EventLoop.shared) { [items, timekeeper] in
      if await timekeeper.sleep(for: wait) { items.post(.timer(timer)) }
    }
  }
}
