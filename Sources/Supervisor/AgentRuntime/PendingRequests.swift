internal import PiRPC

/// The commands that wait for pi's answers, by id. A pure value.
struct PendingRequests<Waiter> {
  private struct Request {
    let command: String
    let waiter: Waiter
  }

  private(set) var nextID: Int
  private var waiting: [String: Request] = [:]
  /// Ids in the order of sending, for failures that come without one.
  private var order: [String] = []
  /// pi's output has ended: no answer comes any more.
  private(set) var hasEnded = false

  init(nextID: Int = 1) { self.nextID = nextID }

  var isEmpty: Bool { waiting.isEmpty }

  mutating func makeID() -> String {
    defer { nextID += 1 }
    return "relay-\(nextID)"
  }

  /// - Returns: false once pi's output has ended.
  mutating func add(_ id: String, command: String, _ waiter: Waiter) -> Bool {
    guard !hasEnded else { return false }
    waiting[id] = Request(command: command, waiter: waiter)
    order.append(id)
    return true
  }

  mutating func take(_ id: String) -> Waiter? {
    guard let request = waiting.removeValue(forKey: id) else { return nil }
    order.removeAll { $0 == id }
    return request.waiter
  }

  /// Takes the waiter that an answer is for; `nil` for an answer that nobody waits for.
  mutating func take(answeredBy response: PiResponse) -> Waiter? {
    if let id = response.id { return take(id) }
    // Older releases answer an unknown command, and any command whose handler threw, without its id.
    let match = order.first { id in
      response.command == "parse" || response.command == nil || waiting[id]?.command == response.command
    }
    return match.flatMap { take($0) }
  }

  /// Takes all waiters: no answer comes any more.
  mutating func end() -> [Waiter] {
    hasEnded = true
    defer {
      waiting = [:]
      order = []
    }
    return waiting.values.map(\.waiter)
  }
}
