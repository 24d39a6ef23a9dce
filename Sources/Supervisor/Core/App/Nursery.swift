internal import RelayPipes

/// Tasks that start at any time and all end within one call: `run`. Cancelling that call cancels every one of them.
package final class Nursery: Sendable {
  private let births = Mailbox<@Sendable () async -> Void>()

  package init() {}

  /// Starts something, now or as soon as `run` is called. Nothing is started after `close`.
  package func add(_ body: @escaping @Sendable () async -> Void) {
    births.post(body)
  }

  /// Lets `run` return once everything started has ended.
  package func close() {
    births.close()
  }

  package func run() async {
    await withDiscardingTaskGroup { group in
      while let body = await births.next() { group.addTask { await body() } }
    }
  }
}
