/// The position in a service's numbered stream of events up to which the host has everything. A pure value.
///
/// Numbers only need to grow: they may leave some out.
public struct StreamPosition: Sendable, Equatable {
  private let interval: Int
  private var last: Int?
  private var underWay: Set<Int> = []
  private var unkept = 0

  /// - Parameter interval: the number of events after which the position is stored, even if none of them was worth it by itself.
  public init(keptEvery interval: Int = 50) { self.interval = interval }

  /// The number after which the service has to send every event again; `nil` before the first event.
  public var safe: Int? {
    guard let last, let first = underWay.min() else { return last }
    return min(last, first - 1)
  }

  /// Reports that the position should be stored now: `interval` events have arrived since it was.
  public var isDue: Bool { unkept >= interval }

  /// Takes an event that has arrived; a stream that has begun again may number it lower.
  public mutating func saw(_ number: Int) {
    last = number
    unkept += 1
  }

  /// Begins an event that the host gets later than some that follow it.
  public mutating func begin(_ number: Int) { underWay.insert(number) }

  /// Ends such an event: the host has it.
  public mutating func finish(_ number: Int) { underWay.remove(number) }

  /// Notes that the position is stored.
  public mutating func keep() { unkept = 0 }
}
