/// The requests of this side that wait for their answers, by id. A pure value.
struct OutgoingRequests<Waiter> {
  private(set) var nextID: Int64
  private var waiting: [Int64: Waiter] = [:]
  /// Ids that were given up before they were sent.
  private var abandoned: Set<Int64> = []

  /// An id that is older than this many others was answered or given up long ago.
  static var maximumAbandoned: Int { 1_000 }

  init(nextID: Int64 = 1) { self.nextID = nextID }

  var isEmpty: Bool { waiting.isEmpty }

  mutating func makeID() -> Int64 {
    defer { nextID += 1 }
    return nextID
  }

  /// - Returns: true, once, for an id that was given up before it was sent.
  mutating func wasAbandoned(_ id: Int64) -> Bool { abandoned.remove(id) != nil }

  mutating func add(_ id: Int64, _ waiter: Waiter) { waiting[id] = waiter }

  mutating func takeWaiter(_ id: Int64) -> Waiter? { waiting.removeValue(forKey: id) }

  mutating func takeAll() -> [Waiter] {
    defer { waiting = [:] }
    return Array(waiting.values)
  }

  /// Gives a request up, whether or not it was sent.
  mutating func abandon(_ id: Int64) -> Waiter? {
    if let waiter = waiting.removeValue(forKey: id) { return waiter }
    if nextID - id < Self.maximumAbandoned { abandoned.insert(id) }
    if abandoned.count > Self.maximumAbandoned {
      abandoned = abandoned.filter { [nextID] id in nextID - id < Self.maximumAbandoned }
    }
    return nil
  }
}
