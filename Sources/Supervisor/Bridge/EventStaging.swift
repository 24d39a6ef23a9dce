internal import DequeModule

/// Events that wait to be published on a bridge, and whether that is under way. A pure value.
struct EventStaging {
  /// Something to publish, with the time at which it came, in milliseconds since 1970.
  enum Arrival {
    /// Events as pi wrote them: lines, each with its newline.
    case lines([UInt8], time: Int64)
    /// An event that is not pi's own; the data is a JSON object.
    case event(String, data: [UInt8], time: Int64)

    var bytes: Int {
      switch self {
      case .lines(let bytes, _), .event(_, let bytes, _): bytes.count
      }
    }
  }

  private enum Pace: Equatable {
    /// Nothing waits to be published.
    case idle
    /// An errand of the loop publishes.
    case scheduled
    /// Publishing waits for a client to read.
    case held(Int)
  }

  /// Bytes of events that may wait for the disk.
  static let maximumBytes = 16 << 20
  /// Bytes of events that may wait for a client that reads slowly.
  static let maximumHeldBytes = 12 << 20
  /// Bytes of events that are published in one turn of the loop: between turns it writes to clients.
  static let bytesInOneTurn = 256 << 10

  private var arrivals: Deque<Arrival> = []
  private var bytes = 0
  private var pace = Pace.idle
  private var holds = 0
  /// Pieces of events that came faster than the disk took them.
  private var lost = 0

  /// Publishing may wait for a client.
  var mayBeHeld: Bool { bytes <= Self.maximumHeldBytes }

  /// - Returns: true where publishing must be scheduled.
  mutating func add(_ arrival: Arrival) -> Bool {
    guard bytes + arrival.bytes <= Self.maximumBytes else {
      lost += 1
      return false
    }
    arrivals.append(arrival)
    bytes += arrival.bytes
    switch pace {
    case .scheduled: return false
    case .held where mayBeHeld: return false
    case .held, .idle:
      pace = .scheduled
      return true
    }
  }

  /// Takes out the events of one turn, and the number of pieces that were lost since the last one.
  ///
  /// The turn lasts until `endTurn` or `hold`.
  mutating func takeTurn() -> (arrivals: [Arrival], lost: Int) {
    var taken: [Arrival] = []
    var size = 0
    while size < Self.bytesInOneTurn, let next = arrivals.popFirst() {
      taken.append(next)
      size += next.bytes
    }
    bytes -= size
    pace = .scheduled
    defer { lost = 0 }
    return (taken, lost)
  }

  /// - Returns: true where another turn must follow.
  mutating func endTurn() -> Bool {
    pace = arrivals.isEmpty ? .idle : .scheduled
    return pace == .scheduled
  }

  /// Publishing waits from now on.
  ///
  /// - Returns: the number that names this wait.
  mutating func hold() -> Int {
    holds += 1
    pace = .held(holds)
    return holds
  }

  /// - Returns: true where publishing must go on; false for a wait that has ended already.
  mutating func endHold(_ number: Int) -> Bool {
    guard pace == .held(number) else { return false }
    pace = .scheduled
    return true
  }
}
