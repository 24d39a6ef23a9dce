/// The position in a service's numbered stream of events up to which the host has everything. A pure value.
///
/// Numbers only need to grow: they may leave some out.
public struct StreamPosition: Sendable, Equatable {
  private let interval: Int
  private var last: Int?
  private var underWay: Set<Int> = []
  private var unkept = 0

  /// - Parameter interval: the number of events after which the position must be kept, even if none of them required
  ///   it.
  public init(keptEvery interval: Int = 50) { self.interval = interval }

  /// The number after which the service has to tell everything again; `nil` before the first event.
  public var safe: Int? {
    guard let last, let first = underWay.min() else { return last }
    return min(last, first - 1)
  }

  /// True when so many events have come since the last time that the position must be kept now.
  public var isDue: Bool { unkept >= interval }

  /// Notes an event; a restarted stream may number it lower.
  public mutating func saw(_ number: Int) {
    last = number
    unkept += 1
  }

  /// An event is handled apart from the others: the host gets it later than some that follow.
  public mutating func begin(_ number: Int) { underWay.insert(number) }

  /// The host has that event now.
  public mutating func finish(_ number: Int) { underWay.remove(number) }

  /// The position is kept.
  public mutating func keep() { unkept = 0 }
}
